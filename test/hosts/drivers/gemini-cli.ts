// Gemini CLI: a program of Node, which uses the Gemini API.
import type { Driver, McpDoor } from '../driver.ts';

const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

const serversOf = (door: McpDoor | null): object =>
  door === null ? {} : { mcpServers: { door: { httpUrl: door.url, headers: door.headers } } };

export const geminiCli: Driver = {
  host: 'gemini-cli',
  title: 'Gemini CLI',
  package: { name: '@google/gemini-cli', version: '0.61.0' },
  program: 'gemini',
  shell: (command) => ({ tool: 'run_shell_command', arguments: { command, description: 'write a note' } }),
  settings: (_model, door) => ({ '.gemini/settings.json': `${JSON.stringify({ ...settings, ...serversOf(door) }, null, 2)}\n` }),
  doorTool: (tool) => `mcp_door_${tool}`,
  settingsFile: '.gemini/settings.json',
  env: (_home, model) => ({ GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'none', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  turn: (words) => ['-m', 'gemini-2.5-pro', '--approval-mode', 'yolo', '-p', words],
  // One of the two fields of a functionResponse.
  saysError: (told) => told.startsWith('{"error":'),
};

// Copilot CLI: a native program, which uses any OpenAI-compatible endpoint that its user configures.
import { fileURLToPath } from 'node:url';
import type { Driver, McpDoor } from '../driver.ts';

const server = fileURLToPath(new URL('../notes-server.js', import.meta.url));
const servers = (door: McpDoor | null): object => ({
  notes: { type: 'local', command: process.execPath, args: [server], tools: ['*'] },
  ...(door === null ? {} : { door: { type: 'http', ...door, tools: ['*'] } }),
});

export const copilotCli: Driver = {
  host: 'copilot-cli',
  title: 'Copilot CLI',
  package: { name: '@github/copilot', version: '1.0.102' },
  program: 'copilot',
  shell: (command) => ({ tool: 'bash', arguments: { command, description: 'write a note', initial_wait: 30 } }),
  failure: (file) => ({ tool: 'notes-fail', arguments: { file } }),
  settings: (_model, door) => ({
    '.copilot/settings.json': '{\n  "banner": "never"\n}\n',
    '.copilot/mcp-config.json': `${JSON.stringify({ mcpServers: servers(door) }, null, 2)}\n`,
  }),
  doorTool: (tool) => `door-${tool}`,
  settingsFile: '.copilot/hooks/tollgate.json',
  env: (_home, model) => ({
    COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'gpt-4.1',
    COPILOT_OFFLINE: 'true',
  }),
  turn: (words) => ['-p', words, '--allow-all', '--no-color', '--no-auto-update'],
};

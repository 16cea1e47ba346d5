// Gemini CLI: a program of Node, which uses the Gemini API.
import type { Driver } from '../driver.ts';

const settings = {
  security: { auth: { selectedType: 'gemini-api-key' } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false },
};

export const geminiCli: Driver = {
  host: 'gemini-cli',
  title: 'Gemini CLI',
  package: { name: '@google/gemini-cli', version: '0.61.0' },
  program: 'gemini',
  shell: (command) => ({ tool: 'run_shell_command', arguments: { command, description: 'write a note' } }),
  settings: () => ({ '.gemini/settings.json': `${JSON.stringify(settings, null, 2)}\n` }),
  settingsFile: '.gemini/settings.json',
  env: (_home, model) => ({ GOOGLE_GEMINI_BASE_URL: model, GEMINI_API_KEY: 'none', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  turn: (words) => ['-m', 'gemini-2.5-pro', '--approval-mode', 'yolo', '-p', words],
  // One of the two fields of a functionResponse.
  saysError: (told) => told.startsWith('{"error":'),
};

// Copilot CLI: a native program, which asks any OpenAI-compatible endpoint that its user brings.
import type { Driver } from '../driver.ts';

export const copilotCli: Driver = {
  host: 'copilot-cli',
  title: 'Copilot CLI',
  package: { name: '@github/copilot', version: '1.0.102' },
  program: 'copilot',
  shell: { tool: 'bash', argumentsOf: (command) => ({ command, description: 'write a note', initial_wait: 30 }) },
  settings: () => ({ '.copilot/settings.json': '{\n  "banner": "never"\n}\n' }),
  settingsFile: '.copilot/hooks/tollgate.json',
  env: (_home, model) => ({
    COPILOT_PROVIDER_BASE_URL: `${model}/v1`,
    COPILOT_PROVIDER_API_KEY: 'none',
    COPILOT_MODEL: 'gpt-4.1',
    COPILOT_OFFLINE: 'true',
  }),
  turn: (words) => ['-p', words, '--allow-all', '--no-color', '--no-auto-update'],
};

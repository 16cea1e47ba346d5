// OpenCode: a native program, which uses any OpenAI-compatible endpoint that its settings name. Its hooks are a plugin
// of ours.
import { fileURLToPath } from 'node:url';
import type { Driver, McpDoor } from '../driver.ts';

const server = fileURLToPath(new URL('../notes-server.js', import.meta.url));

const settings = (model: string, door: McpDoor | null): object => ({
  $schema: 'https://opencode.ai/config.json',
  autoupdate: false,
  share: 'disabled',
  model: 'scripted/scripted',
  small_model: 'scripted/scripted',
  mcp: {
    notes: { type: 'local', command: [process.execPath, server] },
    ...(door === null ? {} : { door: { type: 'remote', ...door } }),
  },
  provider: {
    scripted: {
      npm: '@ai-sdk/openai-compatible',
      name: 'scripted',
      options: { baseURL: `${model}/v1`, apiKey: 'none' },
      models: { scripted: { name: 'scripted', tool_call: true } },
    },
  },
});

export const opencode: Driver = {
  host: 'opencode',
  title: 'OpenCode',
  package: { name: 'opencode-ai', version: '1.18.33' },
  program: 'opencode',
  afterInstall: 'postinstall.mjs',
  shell: (command) => ({ tool: 'bash', arguments: { command, description: 'write a note' } }),
  failure: (file) => ({ tool: 'notes_fail', arguments: { file } }),
  settings: (model, door) => ({ '.config/opencode/opencode.json': `${JSON.stringify(settings(model, door), null, 2)}\n` }),
  doorTool: (tool) => `door_${tool}`,
  settingsFile: '.config/opencode/plugins/tollgate.js',
  env: (home) => ({ XDG_CONFIG_HOME: `${home}/.config`, OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  turn: (words) => ['run', '--auto', words],
};

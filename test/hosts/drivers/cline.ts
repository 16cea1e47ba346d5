// Cline: a native program started by a small Node program; it uses any OpenAI-compatible endpoint that its settings
// name. Its hooks are a plugin of ours.
import { fileURLToPath } from 'node:url';
import type { Driver, McpDoor } from '../driver.ts';

const server = fileURLToPath(new URL('../notes-server.js', import.meta.url));
const servers = (door: McpDoor | null): object => ({
  notes: { command: process.execPath, args: [server] },
  ...(door === null ? {} : { door: { type: 'streamableHttp', ...door } }),
});

const providers = (model: string): object => ({
  version: 1,
  lastUsedProvider: 'openai-compatible',
  modes: {},
  providers: {
    'openai-compatible': {
      settings: { provider: 'openai-compatible', apiKey: 'none', model: 'scripted', baseUrl: `${model}/v1` },
      updatedAt: '2026-11-24T00:00:00.000Z',
      tokenSource: 'manual',
    },
  },
});

export const cline: Driver = {
  host: 'cline',
  title: 'Cline',
  package: { name: 'cline', version: '3.0.65' },
  program: 'cline',
  afterInstall: 'postinstall.mjs',
  shell: (command) => ({ tool: 'run_commands', arguments: { commands: [command] } }),
  failure: (file) => ({ tool: 'notes__fail', arguments: { file } }),
  settings: (model, door) => ({
    '.cline/data/settings/providers.json': `${JSON.stringify(providers(model), null, 2)}\n`,
    '.cline/data/settings/cline_mcp_settings.json': `${JSON.stringify({ mcpServers: servers(door) }, null, 2)}\n`,
  }),
  doorTool: (tool) => `door__${tool}`,
  settingsFile: '.cline/plugins/tollgate.js',
  // Without the limit that `hooks install` recommends, a busy machine loads the plugin too late, and calls run.
  env: () => ({ CLINE_TELEMETRY_DISABLED: '1', CLINE_PLUGIN_IMPORT_TIMEOUT_MS: '60000' }),
  lateLoad: { CLINE_PLUGIN_IMPORT_TIMEOUT_MS: '1' },
  turn: (words) => ['-P', 'openai-compatible', '-m', 'scripted', '--json', words],
};

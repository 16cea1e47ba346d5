// Codex: a native program, which uses the OpenAI Responses API. It runs a new hook once its user has trusted it.
import { trustHooks, trustsHooks } from '../codex-trust.ts';
import type { Driver } from '../driver.ts';

const config = (model: string): string => `# mine
model = "gpt-5.1"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "${model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
`;

export const codex: Driver = {
  host: 'codex',
  title: 'Codex',
  package: { name: '@openai/codex', version: '0.169.0' },
  program: 'codex',
  shell: (cmd) => ({ tool: 'exec_command', arguments: { cmd } }),
  settings: (model) => ({ '.codex/config.toml': config(model) }),
  // It offers tools of MCP servers as a `namespace`, which the scripted model neither reads nor calls.
  doorTool: null,
  settingsFile: '.codex/config.toml',
  env: () => ({ SCRIPTED_KEY: 'none' }),
  turn: (words) => ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', words],
  trust: trustHooks,
  trustWords: '`/hooks` in Codex',
  ownHook: {
    text: '\n[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "true"\n',
    isTrusted: (agent) => trustsHooks(agent, 1),
  },
};

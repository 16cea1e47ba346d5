// Claude Code: a native program, which uses the Anthropic Messages API.
import type { Driver } from '../driver.ts';

export const claudeCode: Driver = {
  host: 'claude-code',
  title: 'Claude Code',
  package: { name: '@anthropic-ai/claude-code', version: '2.1.330' },
  program: 'claude',
  afterInstall: 'install.cjs',
  shell: (command) => ({ tool: 'Bash', arguments: { command, description: 'write a note' } }),
  settings: (_model, door) => ({
    '.claude/settings.json': '{\n  "includeCoAuthoredBy": false\n}\n',
    ...(door === null ? {} : { '.claude.json': JSON.stringify({ mcpServers: { door: { type: 'http', ...door } } }) }),
  }),
  doorTool: (tool) => `mcp__door__${tool}`,
  settingsFile: '.claude/settings.json',
  env: (_home, model) => ({
    ANTHROPIC_BASE_URL: model,
    ANTHROPIC_API_KEY: 'sk-ant-none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    // The first request to the model has the tools of MCP servers.
    MCP_CONNECTION_NONBLOCKING: '0',
    ENABLE_TOOL_SEARCH: 'false',
  }),
  turn: (words) => ['-p', words, '--model', 'claude-sonnet-4-5', '--allowedTools', 'Bash', 'mcp__door__append'],
};

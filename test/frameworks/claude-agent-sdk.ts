import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSdkMcpServer, type Options, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import { type Framework, server, words } from './framework.ts';

const home = mkdtempSync(join(tmpdir(), 'tollgate-claude-'));

export const claudeEnvironment = (ownHome: string, modelUrl: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: ownHome,
  ANTHROPIC_BASE_URL: modelUrl,
  ANTHROPIC_API_KEY: 'sk-ant-none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  MCP_CONNECTION_NONBLOCKING: '0',
  ENABLE_TOOL_SEARCH: 'false',
});

export const claudeAgentSdk: Framework = {
  name: 'Claude Agent SDK',
  tool: 'mcp__mail__send',
  handOff: { tool: 'Agent', input: { description: 'write mail', prompt: words, subagent_type: 'clerk' } },
  async perform({ model, run, send, streams, signal }) {
    const mail = tool('send', 'Sends mail.', { to: z.string() }, async (input) => {
      return { content: [{ type: 'text', text: await send(input) }] };
    });
    const abortController = new AbortController();
    signal?.addEventListener('abort', () => abortController.abort());
    const options: Options = {
      hooks: run.claudeHooks(),
      abortController,
      mcpServers: { [server]: createSdkMcpServer({ name: server, tools: [mail] }) },
      allowedTools: ['mcp__mail__send', 'Agent'],
      tools: ['Agent'],
      agents: { clerk: { description: 'Writes mail.', prompt: 'You write mail.' } },
      model: 'claude-sonnet-4-5',
      cwd: home,
      settingSources: [],
      persistSession: false,
      includePartialMessages: streams === true,
      env: claudeEnvironment(home, model.url),
    };
    let text = '';
    let streamed = '';
    for await (const message of query({ prompt: words, options })) {
      if (message.type === 'result') text = message.subtype === 'success' ? message.result : message.subtype;
      if (message.type === 'stream_event' && message.event.type === 'content_block_delta' && message.event.delta.type === 'text_delta')
        streamed += message.event.delta.text;
    }
    return streams === true ? streamed : text;
  },
  close: () => rmSync(home, { recursive: true, force: true }),
};

// How hosts write the names of servers and tools, according to their recordings and sources. This file is written for
// the tests and shares no code with the reading of names.
import { createHash } from 'node:crypto';
import type { HostName } from '@tollgate/proto/contract';
import type { HostInput } from './asked.ts';

export interface SpelledCall {
  readonly host: HostName;
  /** A description of the spelling, for people. */
  readonly way: string;
  readonly input: HostInput;
}

const units = (text: string, kept: string, mark: string): string =>
  text
    .split('')
    .map((one) => (/[A-Za-z0-9]/.test(one) || kept.includes(one) ? one : mark))
    .join('');
const points = (text: string, kept: string, mark: string): string =>
  Array.from(text, (one) => (/^[A-Za-z0-9]$/.test(one) || kept.includes(one) ? one : mark)).join('');

function codexName(server: string, tool: string, kept: string): string {
  const whole = `mcp__${points(server, kept, '_')}__${points(tool, kept, '_')}`;
  if (whole.length <= 64) return whole;
  return whole.slice(0, 24) + createHash('sha1').update(`mcp__${server}__${tool}`).digest('hex');
}

const digestOf = (text: string): string => `_${createHash('sha1').update(text).digest('hex').slice(0, 12)}`;

interface Twins {
  /** Whether there are two such names as Codex writes them: of the server, of the tool. */
  readonly server: boolean;
  readonly tool: boolean;
}

/**
 * Newer versions of Codex distinguish names that it writes alike by a digest, and cut names that are longer than
 * `max`.
 */
function codexDistinct(server: string, tool: string, twins: Twins, max: number): string {
  const space = `mcp__${points(server, '_', '_')}${twins.server ? digestOf(server) : ''}`;
  const name = `${points(tool, '_', '_')}${twins.tool ? digestOf(tool) : ''}`;
  if (space.length + 2 + name.length <= max) return `${space}__${name}`;
  const digest = digestOf(`${server} ${tool}`);
  const left = max - space.length - 2 - digest.length;
  return left >= 0 ? `${space}__${name.slice(0, left)}${digest}` : `${space.slice(0, max - digest.length - 2)}__${digest}`;
}

/** The form in which Claude Code writes the names of connectors of its maker. */
const connector = (server: string): string => (server.startsWith('claude.ai ') ? once(units(server, '_-', '_')) : units(server, '_-', '_'));
const once = (text: string): string => text.replace(/_+/g, '_').replace(/^_|_$/g, '');

function geminiName(server: string, tool: string, joint: string): string {
  const whole = units(`mcp_${server}${joint}${tool}`, '_-.:', '_');
  return whole.length <= 63 ? whole : `${whole.slice(0, 30)}...${whole.slice(-30)}`;
}

/**
 * The form of Cline: every run of other characters becomes one `_`, and a name that this changed, or that is too long,
 * gets a digest.
 */
function clineName(server: string, tool: string): string {
  const whole = `${server}__${tool}`;
  const written = whole.replace(/[^A-Za-z0-9_-]+/g, '_');
  if (written === whole && whole.length <= 64) return whole;
  return `${written.slice(0, 55)}_${createHash('sha1').update(whole).digest('hex').slice(0, 8)}`;
}

/** Returns one call of a server's tool in the form of each host and version. */
export function spellingsOf(server: string, tool: string): readonly SpelledCall[] {
  const pre = (tool_name: string, fields: object = {}): HostInput => ({
    session_id: 's1',
    hook_event_name: 'PreToolUse',
    tool_name,
    tool_input: {},
    ...fields,
  });
  const before = (tool_name: string, fields: object = {}): HostInput => ({ ...pre(tool_name, fields), hook_event_name: 'BeforeTool' });
  const cursor = (tool_name: string, fields: object = {}): HostInput => ({
    ...pre(tool_name, fields),
    hook_event_name: 'preToolUse',
    conversation_id: 'c1',
  });
  const claude = `mcp__${connector(server)}__${units(tool, '_-', '_')}`;
  return [
    { host: 'claude-code', way: 'with mcp_server', input: pre(claude, { mcp_server: { name: server, source: 'dynamic' } }) },
    { host: 'claude-code', way: 'before it sent mcp_server', input: pre(claude) },
    { host: 'codex', way: '0.169', input: pre(codexName(server, tool, '_')) },
    { host: 'codex', way: 'before it replaced -', input: pre(codexName(server, tool, '_-')) },
    ...[64, 128].flatMap((max) =>
      [false, true].flatMap((ofServer) =>
        [false, true].map((ofTool) => ({
          host: 'codex' as const,
          way: `cut at ${max}${ofServer ? ', one of two servers' : ''}${ofTool ? ', one of two tools' : ''}`,
          input: pre(codexDistinct(server, tool, { server: ofServer, tool: ofTool }, max)),
        })),
      ),
    ),
    {
      host: 'copilot-cli',
      way: '1.0.102',
      input: { sessionId: 's1', toolName: `${units(server, '_-', '-')}-${units(tool, '_-', '-')}`.slice(0, 64), toolArgs: {} },
    },
    {
      host: 'gemini-cli',
      way: 'with mcp_context',
      input: before(geminiName(server, tool, '_'), { mcp_context: { server_name: server, tool_name: tool } }),
    },
    { host: 'gemini-cli', way: 'without mcp_context', input: before(geminiName(server, tool, '_')) },
    {
      host: 'opencode',
      way: '1.18.33',
      input: {
        hook_event_name: 'tool.execute.before',
        tool: `${units(server, '_-', '_')}_${units(tool, '_-', '_')}`,
        sessionID: 's1',
        args: {},
      },
    },
    {
      host: 'cline',
      way: '3.0.65',
      input: { hook_event_name: 'beforeTool', toolName: clineName(server, tool), conversationId: 's1', input: {} },
    },
    { host: 'cursor', way: 'with mcp_server_name', input: cursor(`MCP:${tool}`, { mcp_server_name: server }) },
    { host: 'cursor', way: 'without it', input: cursor(`MCP:${tool}`) },
    { host: 'cursor', way: 'without it, replaced', input: cursor(`MCP:${units(tool, '_-', '_')}`) },
  ];
}

// The requests of flood.ts's attacker, and the form of its results.
import { bounds } from '@tollgate/proto/contract';

export interface AttackOrder {
  readonly url: string;
  readonly key: string;
  readonly requestsPerSecond: number;
  readonly minutes: number;
  /** One of this many requests has a body of the maximum size. */
  readonly largeEach: number;
  /** The other endpoints of a sidecar; null: it has none. */
  readonly doors: Doors | null;
}

interface Doors {
  /** ExtMcp, as agentgateway uses it: `host:port`; null: the program has none. */
  readonly mesh: string | null;
  /** The name of a tool server behind the MCP proxy. */
  readonly mcpServer: string | null;
}

export interface FloodCounts {
  readonly sent: number;
  readonly answered: number;
  /** Answered with a request to retry later. */
  readonly refused: number;
  /** Reached no program. */
  readonly failed: number;
}

/** One of this many requests has the longest list that is allowed. */
const longEach = 200;

export const bodyOf = (fields: object): string =>
  JSON.stringify({ tool_name: 'server7.tool_7', tool_input: { n: 1 }, agent_name: 'free', agent_tier: 'api', ...fields });

/** Each contains names that no request contained before. */
export function attackOf(n: number, largeEach: number): string {
  if (n % largeEach === 0) return largeBody(n);
  if (n % longEach === 0)
    return bodyOf({ session_id: `s${n}`, delegated_tools: Array.from({ length: 1_000 }, (_, at) => `${n}.${at}.${'x'.repeat(180)}`) });
  switch (n % 4) {
    case 0:
      return bodyOf({ session_id: `${n}-${'s'.repeat(150)}` });
    case 1:
      return bodyOf({ session_id: `s${n}`, agent_chain: Array.from({ length: 16 }, (_, at) => `agent-${n}-${at}`) });
    case 2:
      return bodyOf({ session_id: `s${n}`, tool_name: `tool.${n}.${'t'.repeat(100)}`, client: { name: `client-${n}` } });
    default:
      return bodyOf({ session_id: `s${n}`, delegated_tools: [`server7.tool_${n}`, 'server7.*'], call_id: `call-${n}` });
  }
}

/** As a coding agent asks before it calls a tool. */
export const hookOf = (n: number): string =>
  JSON.stringify({ hook_event_name: 'PreToolUse', session_id: `h${n}`, tool_name: `Tool${n}`, tool_input: { n }, tool_use_id: `u${n}` });

const rpc = (id: number, method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id, method, params });

/** A session of MCP, and a call in it. */
export const mcpMessages = (n: number): { readonly initialize: string; readonly call: string } => ({
  initialize: rpc(n, 'initialize', {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: `client-${n}`, version: '1' },
  }),
  call: rpc(n, 'tools/call', { name: 'look', arguments: { n } }),
});

/** Levels around the values: with those of the body itself, the maximum. */
const levels = bounds.jsonDepth - 4;
/** Together with the levels, fewer than the maximum. */
const values = bounds.jsonNodes - 100;
let nested = '';

/** The maximum of bytes, values and levels of a body. */
function largeBody(n: number): string {
  const begin = bodyOf({ session_id: `s${n}`, call_id: `call-${n}` }).replace('{"n":1}', `{"n":${n},"all":`);
  const [before = '', after = ''] = begin.split('"all":');
  if (nested === '') {
    const left = bounds.bodyBytes - begin.length - 2 * levels - 100;
    const value = `"${'v'.repeat(Math.floor(left / values) - 3)}"`;
    nested = `${'['.repeat(levels)}${Array.from({ length: values }, () => value).join(',')}${']'.repeat(levels)}`;
  }
  return `${before}"all":${nested}}${after}`;
}

// Reads the caller from headers, for endpoints whose protocol has no fields for it. Agent, tier and session come from
// the headers, and the rest from the key. The pins of a key have priority over the headers. These headers are ours and
// are not forwarded.
import { digestText, isTier, nameProblem, type Tier, tiers } from '@tollgate/proto/contract';
import type { CallerClaim } from '../sessions/sessions.ts';

/** The headers of a request, by name in lower case. A list contains each occurrence of a header. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface CallerHeaders {
  readonly agent: string;
  readonly tier: Tier;
  /** Null: the headers name no session. */
  readonly sessionId: string | null;
}

/**
 * Returns the caller, or the problem in a text that names the header. Pass `headersDistinct` of Node, because `headers`
 * joins repeated headers.
 */
export function readCallerHeaders(headers: Headers): CallerHeaders | { readonly problem: string } {
  const agent = oneOf(headers, 'x-tollgate-agent');
  const tier = oneOf(headers, 'x-tollgate-tier');
  const session = oneOf(headers, 'x-tollgate-session');
  for (const [name, value] of [['X-Tollgate-Agent', agent] as const, ['X-Tollgate-Session', session] as const]) {
    const problem = value === undefined ? twice : value === null ? null : nameProblem(value);
    if (problem !== null) return { problem: `${name} ${problem}` };
  }
  if (tier === undefined) return { problem: `X-Tollgate-Tier ${twice}` };
  if (tier !== null && !isTier(tier)) return { problem: `X-Tollgate-Tier must be one of ${tiers.join(', ')}` };
  return { agent: agent ?? '', tier: tier ?? 'interactive', sessionId: session ?? null };
}

const twice = 'must appear only once';

/** Returns the value of a header. Null: the header is missing or empty. Undefined: the header occurs more than once. */
function oneOf(headers: Headers, name: string): string | null | undefined {
  const value = headers[name] ?? null;
  const one = typeof value === 'object' && value !== null ? (value.length > 1 ? undefined : value[0]) : value;
  return one === '' ? null : one;
}

interface ProtocolCaller {
  readonly client: CallerClaim['client'];
  /** The session id of the protocol, used if no header names one. It may have any length. */
  readonly sessionId: string;
}

const sessionIdLengthMax = 200;

export function claimedBy(headers: CallerHeaders, { client, sessionId }: ProtocolCaller): CallerClaim {
  const named = headers.sessionId ?? sessionId;
  return {
    sessionId: named.length > sessionIdLengthMax ? digestText(named) : named,
    chain: [headers.agent],
    delegatedTools: null,
    tier: headers.tier,
    client,
  };
}

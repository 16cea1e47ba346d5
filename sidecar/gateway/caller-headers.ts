// Who calls, where a door's protocol has no fields for it: agent, tier and session as headers say, the rest as the key
// does; a key's pins win over all of it. The headers are ours and go no further.
import { digestText, isTier, nameProblem, type Tier, tiers } from '@tollgate/proto/contract';
import type { Claimed } from './sessions/sessions.ts';

/** Names in lower case. A list: each time that it stands there. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface CallerHeaders {
  readonly agent: string;
  readonly tier: Tier;
  /** Null: none is named. */
  readonly sessionId: string | null;
}

/** Or what is wrong, naming the header. Of what Node has read, `headersDistinct`: it joins what stands twice otherwise. */
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

const twice = 'must stand once';

/** Null: it is not there, or says nothing; undefined: it is there more than once. */
function oneOf(headers: Headers, name: string): string | null | undefined {
  const value = headers[name] ?? null;
  const one = typeof value === 'object' && value !== null ? (value.length > 1 ? undefined : value[0]) : value;
  return one === '' ? null : one;
}

interface Said {
  readonly client: Claimed['client'];
  /** The protocol's own, where no header names one; of any length. */
  readonly sessionId: string;
}

const sessionIdLengthMax = 200;

export function claimedBy(headers: CallerHeaders, { client, sessionId }: Said): Claimed {
  const named = headers.sessionId ?? sessionId;
  return {
    sessionId: named.length > sessionIdLengthMax ? digestText(named) : named,
    chain: [headers.agent],
    delegatedTools: null,
    tier: headers.tier,
    client,
  };
}

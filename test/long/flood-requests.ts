// What the attacker of flood.ts sends, and what it says of it.

export interface AttackOrder {
  readonly url: string;
  readonly key: string;
  readonly requestsPerSecond: number;
  readonly minutes: number;
}

export interface Attacked {
  readonly sent: number;
  readonly answered: number;
  /** Told to come later. */
  readonly refused: number;
  /** Reached nobody. */
  readonly failed: number;
}

/** One of so many requests brings the longest list that there may be. */
const longEach = 200;

export const bodyOf = (fields: object): string =>
  JSON.stringify({ tool_name: 'server7.tool_7', tool_input: { n: 1 }, agent_name: 'free', agent_tier: 'api', ...fields });

/** Each says something that nobody has said before. */
export function attackOf(n: number): string {
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

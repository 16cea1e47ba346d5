// The form that a message of asks must have, in one place. What passes it may still be a lie; the ledger tells.
import { bounds, type QuotaAsk, quotaCounterKey, type SettledGrant } from '@tollgate/proto/contract';

/** `<document key> <path>`, with a name in quotes. */
const limitIdLength = 2_000;
const runId = /^[0-9a-f]{64}$/;
const countMax = 4_294_967_295;

/** What is wrong with it; null: nothing. */
export function asksProblem(asks: readonly QuotaAsk[]): string | null {
  if (asks.length === 0 || asks.length > bounds.leaseAsks) return `a message holds 1 to ${bounds.leaseAsks} asks, not ${asks.length}`;
  for (const [at, ask] of asks.entries()) {
    const problem = askProblem(ask);
    if (problem !== null) return `asks[${at}]${problem}`;
  }
  const counters = new Set(asks.map(({ counter }) => quotaCounterKey(counter)));
  return counters.size === asks.length ? null : 'a counter stands once in a message';
}

function askProblem({ counter, number, waiting, revision, settled }: QuotaAsk): string | null {
  if (counter.kind === 'limit') {
    if (!isBetween(counter.originSub.length, 1, bounds.nameLength))
      return `.counter.limit.origin_sub must be 1 to ${bounds.nameLength} characters`;
    if (!isBetween(counter.id.length, 1, limitIdLength)) return `.counter.limit.id must be 1 to ${limitIdLength} characters`;
  } else {
    if (!runId.test(counter.id)) return '.counter.run.id must be 64 hex digits';
    if (!isBetween(counter.agentId.length, 1, bounds.nameLength))
      return `.counter.run.agent_id must be 1 to ${bounds.nameLength} characters`;
  }
  if (!isBetween(number, 0, Number.MAX_SAFE_INTEGER)) return '.number must be an integer from 0';
  if (!isBetween(waiting, 0, countMax)) return '.waiting must be an integer from 0';
  if (!isBetween(revision.number, 0, Number.MAX_SAFE_INTEGER)) return '.revision.number must be an integer from 0';
  if (settled.length > bounds.leaseSettled) return `.settled holds at most ${bounds.leaseSettled} grants, not ${settled.length}`;
  const wrong = settled.findIndex((one) => !isSettled(one));
  return wrong < 0 ? null : `.settled[${wrong}] must name a grant, and at most ${bounds.leaseSettled} uses with an age and a count`;
}

const isSettled = ({ grantId, used }: SettledGrant): boolean =>
  isBetween(grantId, 1, Number.MAX_SAFE_INTEGER) &&
  used.length <= bounds.leaseSettled &&
  used.every(({ ageMs, count }) => isBetween(ageMs, 0, Number.MAX_SAFE_INTEGER) && isBetween(count, 0, countMax));

const isBetween = (value: number, min: number, max: number): boolean => Number.isSafeInteger(value) && value >= min && value <= max;

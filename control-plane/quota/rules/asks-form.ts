// Checks the form of a message of asks. This is the only place that does so. A message with a valid form can still
// contain false statements; the ledger detects them.
import { bounds, type QuotaAsk, type QuotaCounter, quotaCounterKey, runIdOf, type SettledGrant } from '@tollgate/proto/contract';

/**
 * The maximum length of the id of a limit. The id has the form `<document key> <path>`, where the path can contain the
 * names of a tool or agent type and of a case in quotes: 1,200 characters at most.
 */
const limitIdLength = 2_000;
/** The maximum number of agents of one run. Sidecars have the same limit for incoming calls. */
const agentsMax = 64;
const countMax = 4_294_967_295;
/**
 * The maximum number of uses in one message. A sidecar sends fewer than 44,000, because it splits its messages at 1 MiB
 * and counts 24 bytes for each use.
 */
const usesMax = 50_000;

/** Returns what is wrong with the message; null: nothing is wrong. */
export function asksProblem(asks: readonly QuotaAsk[]): string | null {
  if (asks.length === 0 || asks.length > bounds.leaseAsks) return `a message holds 1 to ${bounds.leaseAsks} asks, not ${asks.length}`;
  for (const [at, ask] of asks.entries()) {
    const problem = askProblem(ask);
    if (problem !== null) return `asks[${at}]${problem}`;
  }
  const uses = asks.reduce((sum, { settled }) => sum + usesOf(settled), 0);
  if (uses > usesMax) return `a message settles at most ${usesMax} uses, not ${uses}`;
  const counters = new Set(asks.map(({ counter }) => quotaCounterKey(counter)));
  return counters.size === asks.length ? null : 'a message must name each counter only once';
}

/** Returns how many bytes of memory a message of asks uses, as a high estimate. */
export function asksBytes(asks: readonly QuotaAsk[]): number {
  const ofAsk = ({ counter, settled }: QuotaAsk): number =>
    askBytes + namesBytes(counter) + settled.length * settledBytes + usesOf(settled) * useBytes;
  return asks.reduce((sum, ask) => sum + ofAsk(ask), 0);
}

const askBytes = 512;
const settledBytes = 96;
const useBytes = 64;
const nameBytes = 32;

function namesBytes(counter: QuotaCounter): number {
  const { keyId, sub, sessionId, agents } = (counter.kind === 'run' ? counter.of : null) ?? noRun;
  const own = counter.kind === 'run' ? [counter.id, counter.agentId, keyId, sub, sessionId, ...agents] : [counter.originSub, counter.id];
  return own.reduce((sum, name) => sum + nameBytes + 2 * name.length, 0);
}

const noRun = { keyId: '', sub: '', sessionId: '', agents: [] };

const usesOf = (settled: readonly SettledGrant[]): number => settled.reduce((sum, { used }) => sum + used.length, 0);

function askProblem({ counter, number, waiting, revision, max, made, settled }: QuotaAsk): string | null {
  if (counter.kind === 'limit') {
    if (!isBetween(counter.originSub.length, 1, bounds.nameLength))
      return `.counter.limit.origin_sub must be 1 to ${bounds.nameLength} characters`;
    if (!isBetween(counter.id.length, 1, limitIdLength)) return `.counter.limit.id must be 1 to ${limitIdLength} characters`;
  } else {
    const problem = runProblem(counter);
    if (problem !== null) return `.counter.run${problem}`;
  }
  if (!isBetween(number, 0, Number.MAX_SAFE_INTEGER)) return '.number must be an integer from 0';
  if (!isBetween(waiting, 0, countMax)) return '.waiting must be an integer from 0';
  if (!isBetween(revision.number, 0, Number.MAX_SAFE_INTEGER)) return '.revision.number must be an integer from 0';
  if (max !== null && !isBetween(max, 0, countMax)) return '.max must be an integer from 0';
  if (made !== null && !isBetween(made, 0, countMax)) return '.made must be an integer from 0';
  if (settled.length > bounds.leaseSettled) return `.settled holds at most ${bounds.leaseSettled} grants, not ${settled.length}`;
  const wrong = settled.findIndex((one) => !isSettled(one));
  return wrong < 0 ? null : `.settled[${wrong}] must name a grant, and at most ${bounds.leaseSettled} uses with an age and a count`;
}

/**
 * Returns what is wrong with the counter of a run; null: nothing is wrong. Its id must be equal to the id that is
 * computed here from the stated key, subject, session and agents. Nothing else identifies a run.
 */
function runProblem({ id, agentId, of }: Extract<QuotaCounter, { readonly kind: 'run' }>): string | null {
  if (of === null) return ' must contain its key_id, sub, session_id and agents';
  const { keyId, sub, sessionId, agents } = of;
  if (!isBetween(keyId.length, 1, bounds.nameLength)) return `.key_id must be 1 to ${bounds.nameLength} characters`;
  if (!isBetween(sub.length, 1, bounds.nameLength)) return `.sub must be 1 to ${bounds.nameLength} characters`;
  if (!isBetween(sessionId.length, 1, bounds.nameLength)) return `.session_id must be 1 to ${bounds.nameLength} characters`;
  if (agents.length > agentsMax) return `.agents must be at most ${agentsMax}`;
  if (!agents.every(({ length }) => isBetween(length, 1, bounds.nameLength)))
    return `.agents must be 1 to ${bounds.nameLength} characters each`;
  if (agents.at(-1) !== agentId) return '.agent_id must be the last of its agents';
  return runIdOf(of) === id ? null : '.id must be the SHA-256 of the identity of the run';
}

const isSettled = ({ grantId, used }: SettledGrant): boolean =>
  isBetween(grantId, 1, Number.MAX_SAFE_INTEGER) &&
  used.length <= bounds.leaseSettled &&
  used.every(({ ageMs, count }) => isBetween(ageMs, 0, Number.MAX_SAFE_INTEGER) && isBetween(count, 0, countMax));

const isBetween = (value: number, min: number, max: number): boolean => Number.isSafeInteger(value) && value >= min && value <= max;

// Counts the requests of each key that were refused before they were read, because the key sent too many requests or
// bytes. These requests are not calls. One entry for each key states the number of refusals and the time span in
// seconds. The span is one second, or more if the entry could not be written immediately. So a flood costs little and
// is still visible. An entry that cannot be written waits and is retried. When the process closes, the remaining
// entries are written. The entries of different keys are written in parallel, so a failing key does not delay the
// others.
//
// States of a tally: counting (from the first refusal until the next tick of the timer, at most one second) → being
// written (further refusals of its key are counted) → written, then deleted or counting again. If writing fails, the
// tally waits for 1 s. Each further failure doubles the wait, up to a minute. Refusals are lost, and reported to
// `lost`, in four cases: the entry can never be written (the workspace is gone); writing failed `triesMax` times (about
// an hour); there are more than `keysMax` keys; the last attempt, when the process closes, fails. If the process is
// killed, the refusals that were not written are lost. One timer serves all keys.
import { AppError, codes } from '@tollgate/proto/contract';
import type { Clock } from '../../base/clock.ts';
import { bindCaller } from '../../engine/decide/bind.ts';
import type { Identity } from '../../engine/decide/call.ts';
import { refuse } from '../../engine/decide/refusal.ts';
import { callerText, entryText, type RunFacts } from '../../engine/govern/audit-entry.ts';
import type { Governing } from '../../engine/govern/governing.ts';
import { heldBy } from '../../engine/govern/run.ts';
import { AuditUnavailable } from '../../engine/spool/unavailable.ts';

/** The reason for a refusal. `requests`: the key exceeded its limit. `bytes`: there was no memory for the body. */
export type RefusedBy = 'requests' | 'bytes';

/**
 * Where the entry of a key is written. This object may be kept for a long time, so it contains nothing of a snapshot.
 */
export interface RefusedKey {
  readonly governing: Governing;
  readonly identity: Identity;
}

export interface RefusedRequests {
  /**
   * Counts a refusal. `find` is called when the entry is written. If the destination no longer exists, `find` rejects
   * with an `AppError` whose code is not retryable.
   */
  note(keyId: string, by: RefusedBy, find: () => RefusedKey | Promise<RefusedKey>): void;
  /** Writes the refusals that are counted and not written yet. */
  close(): Promise<void>;
}

/** The number of refusals of a key that appear in no entry. */
export interface LostRefusals {
  readonly requests: number;
  readonly keyId: string;
  readonly why: string;
}

/** The log message for refusals that `lost` receives. */
export const refusalsLost = 'requests were refused, and the entry that counts them could not be recorded';

type Counts = Readonly<Record<RefusedBy, number>> & {
  /** The time of the first of these refusals. */
  readonly since: number;
};

interface Tally {
  readonly find: () => RefusedKey | Promise<RefusedKey>;
  counts: Counts;
  /** The number of failed tries since the last successful write. */
  tries: number;
  /** The number of ticks of the timer until the next try. */
  waits: number;
  writing: Promise<void> | null;
}

const tickMs = 1_000;
const longestWait = 60;
const triesMax = 64;
const keysMax = 10_000;
const none: Counts = { requests: 0, bytes: 0, since: Number.POSITIVE_INFINITY };

const plus = (a: Counts, b: Counts): Counts => ({
  requests: a.requests + b.requests,
  bytes: a.bytes + b.bytes,
  since: Math.min(a.since, b.since),
});
const sumOf = ({ requests, bytes }: Counts): number => requests + bytes;

/** Creates the counts of refusals. `lost` is called with the refusals that no entry will contain. */
export function createRefusedRequests(clock: Pick<Clock, 'now'>, lost: (refusals: LostRefusals) => void, max = keysMax): RefusedRequests {
  const tallies = new Map<string, Tally>();
  let timer: NodeJS.Timeout | null = null;

  const tickSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = null;
      for (const [keyId, tally] of tallies) {
        if (tally.writing !== null) continue;
        if (tally.waits > 0) tally.waits -= 1;
        else tally.writing = writeOne(keyId, tally, triesMax);
      }
      if (tallies.size > 0) tickSoon();
    }, tickMs).unref();
  };

  const writeOne = async (keyId: string, tally: Tally, most: number): Promise<void> => {
    const { counts } = tally;
    tally.counts = none;
    try {
      const key = await tally.find();
      await write(key, wordsOf(counts, clock.now()));
      tally.tries = 0;
    } catch (error) {
      tally.tries += 1;
      if (isHopeless(error) || tally.tries >= most) {
        lost({ requests: sumOf(counts), keyId, why: error instanceof Error ? error.message : 'it cannot be written' });
        tally.tries = 0;
      } else {
        tally.counts = plus(counts, tally.counts);
        tally.waits = Math.min(2 ** (tally.tries - 1), longestWait) - 1;
      }
    }
    tally.writing = null;
    if (sumOf(tally.counts) === 0) tallies.delete(keyId);
  };

  return {
    note: (keyId, by, find) => {
      const known = tallies.get(keyId);
      if (known === undefined && tallies.size >= max)
        return lost({ requests: 1, keyId, why: `the refusals of ${max} keys are waiting already` });
      const tally = known ?? { find, counts: none, tries: 0, waits: 0, writing: null };
      tally.counts = plus(tally.counts, { ...none, [by]: 1, since: clock.now() });
      if (known === undefined) tallies.set(keyId, tally);
      tickSoon();
    },
    close: async () => {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await Promise.all([...tallies.values()].map(async ({ writing }) => writing));
      await Promise.all([...tallies].map(([keyId, tally]) => writeOne(keyId, tally, 0)));
    },
  };
}

/** Returns whether no later try can succeed. */
function isHopeless(error: unknown): boolean {
  if (error instanceof AuditUnavailable) return error.why === 'oversized' || error.why === 'closed';
  return error instanceof AppError && !codes[error.code].retryable && error.code !== 'internal';
}

/** Writes an entry to the spool. Rejects if the entry cannot be written. */
async function write({ governing: { spool, govern }, identity }: RefusedKey, words: string): Promise<void> {
  // The agent and client of the caller are unknown, because bodies name them and this body was not read.
  const client = { name: 'unread' };
  const caller = bindCaller(heldBy(govern.cell), { identity, hops: [{ tier: 'api', client: client.name, agent: '' }] });
  const facts: RunFacts = { sessionId: identity.keyId, client, runChain: [identity.keyId], chainClaimed: false };
  const entry = entryText(callerText(caller, facts), {
    hookEvent: 'PreToolUse',
    tool: '',
    decision: refuse('request_limit', words),
    requestId: govern.newId(),
    trace: null,
    at: govern.clock.wallTime(),
    policyAgeMs: govern.clock.now() - govern.cell.freshness.heardAt,
    inputDigest: '',
    input: null,
    findings: [],
  });
  try {
    await spool.appendAsync(entry);
  } catch (error) {
    // `unconfirmed` is not a failure: the entry is written and will arrive.
    if (!(error instanceof AuditUnavailable) || error.why !== 'unconfirmed') throw error;
  }
}

function wordsOf({ requests, bytes, since }: Counts, now: number): string {
  const causes = [
    ...(requests > 0 ? [`${requests} over the key's limit of requests a second`] : []),
    ...(bytes > 0 ? [`${bytes} while too many body bytes of the key were in progress`] : []),
  ];
  const all = requests + bytes;
  const seconds = Math.ceil((now - since) / 1_000);
  const span = seconds > 1 ? `${seconds} seconds` : 'second';
  return `${all} ${all === 1 ? 'request was' : 'requests were'} refused unread in the last ${span}: ${causes.join(', ')}`;
}

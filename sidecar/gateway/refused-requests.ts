// How many requests of each key were refused before they were read, because it sent too many or too much. They are no calls; one entry
// says for each key how many there were, and in how many seconds: in one, unless it could not be written then; so that a flood costs little and is seen. What cannot be written now waits and is tried
// again, and closing writes what is left. Keys are written side by side: one that cannot be holds up no other.
//
// States of a tally: counting, from a first refusal until the second is over → being written, while further refusals of its key are
// counted → written, and gone, or counting again; waiting, where it could not be written: for a second, then twice as long each time, up to
// a minute. Lost, and `lost` hears of it: what can never be written (the workspace is gone), what could not be for `triesMax` tries (about an
// hour), what is of more than `keysMax` keys, and what is left when closing cannot write it; a kill loses what was not written. Of all keys
// together one timer runs.
import { AppError, codes } from '@tollgate/proto/contract';
import type { Clock } from '../clock.ts';
import { bindCaller } from '../decide/bind.ts';
import type { Identity } from '../decide/call.ts';
import { refuse } from '../decide/refusal.ts';
import { callerText, entryText, type RunFacts } from '../govern/audit-entry.ts';
import type { Governing } from '../govern/governing.ts';
import { heldBy } from '../govern/run.ts';
import { AuditUnavailable } from '../spool/unavailable.ts';

/** `requests`: over the key's limit; `bytes`: no room for its body. */
export type RefusedBy = 'requests' | 'bytes';

/** Where the entry of a key goes. It may wait for long, so nothing of a snapshot is in it. */
export interface RefusedKey {
  readonly governing: Governing;
  readonly identity: Identity;
}

export interface RefusedRequests {
  /** `find` is asked when the entry is written. It rejects with an `AppError` of a code that is not retryable where there is none any more. */
  note(keyId: string, by: RefusedBy, find: () => RefusedKey | Promise<RefusedKey>): void;
  /** Writes what was counted. */
  close(): Promise<void>;
}

/** So many refusals of a key stand in no entry. */
export interface LostRefusals {
  readonly requests: number;
  readonly keyId: string;
  readonly why: string;
}

/** In the log, where `lost` hears of some. */
export const refusalsLost = 'requests were refused, and no entry says so';

type Counts = Readonly<Record<RefusedBy, number>> & {
  /** When the first of them was refused. */
  readonly since: number;
};

interface Tally {
  readonly find: () => RefusedKey | Promise<RefusedKey>;
  counts: Counts;
  /** In vain, since it was last written. */
  tries: number;
  /** Ticks until it is tried again. */
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

/** `lost` hears of refusals that no entry will tell of. */
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
      if (known === undefined && tallies.size >= max) return lost({ requests: 1, keyId, why: `of ${max} keys refusals wait already` });
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

/** Whether no later try can succeed. */
function isHopeless(error: unknown): boolean {
  if (error instanceof AuditUnavailable) return error.why === 'oversized' || error.why === 'closed';
  return error instanceof AppError && !codes[error.code].retryable && error.code !== 'internal';
}

/** Rejects where it cannot be. */
async function write({ governing: { spool, govern }, identity }: RefusedKey, words: string): Promise<void> {
  // Who called by which agent and client stands in bodies that were not read.
  const client = { name: 'unread' };
  const caller = bindCaller(heldBy(govern.cell), { identity, hops: [{ tier: 'api', client: client.name, agent: '' }] });
  const facts: RunFacts = { sessionId: identity.keyId, client, runChain: [identity.keyId], chainClaimed: false };
  const entry = entryText(callerText(caller, facts), {
    hookEvent: 'PreToolUse',
    tool: '',
    decision: refuse('request_limit', words),
    requestId: govern.newId(),
    trace: null,
    at: govern.clock.wall(),
    policyAgeMs: govern.clock.now() - govern.cell.freshness.heardAt,
    inputDigest: '',
    input: null,
    findings: [],
  });
  try {
    await spool.appendAsync(entry);
  } catch (error) {
    // It is written, and will arrive.
    if (!(error instanceof AuditUnavailable) || error.why !== 'unconfirmed') throw error;
  }
}

function wordsOf({ requests, bytes, since }: Counts, now: number): string {
  const causes = [
    ...(requests > 0 ? [`${requests} over the key's limit of requests a second`] : []),
    ...(bytes > 0 ? [`${bytes} while too many bytes of its bodies were under way`] : []),
  ];
  const all = requests + bytes;
  const seconds = Math.ceil((now - since) / 1_000);
  const span = seconds > 1 ? `${seconds} seconds` : 'second';
  return `${all} ${all === 1 ? 'request was' : 'requests were'} refused unread in the last ${span}: ${causes.join(', ')}`;
}

// Writes entries that withdraw an earlier entry: the earlier entry says that a call or an output may pass, but the
// caller received another answer. Such an entry is owed: if it cannot be written now, it is written later. Thus the log
// keeps no permit that was not delivered.
//
// States of an entry: on its way to the spool → written, and removed here. If the spool refuses it: waiting, and
// retried in order, after a time that doubles up to half a minute → written. An entry is lost, and counted as
// unrecorded, in three cases: it can never be written (it is too large, or the spool is closed), too many entries wait,
// or the process ends first. One timer serves all waiting entries.
import { AuditUnavailable } from '../spool/unavailable.ts';
import type { Spool } from '../spool/spool.ts';

/** The process that must write the entry: its spool, and its count of lost entries. */
interface Owing {
  readonly spool: Pick<Spool, 'appendAsync'>;
  unrecorded: number;
}

export interface OwedEntries {
  /** Resolves after the first try: the entry is then written or lost, or it waits for the next try. */
  write(owing: Owing, entry: string): Promise<void>;
  /**
   * Waits for entries that are on their way, and tries the waiting entries a last time. It is called before the spool
   * is closed.
   */
  close(): Promise<void>;
}

const firstMs = 1_000;
const longestMs = 30_000;

/**
 * The maximum number of waiting entries, and of their characters in total. An entry without an input has a few hundred
 * characters, and at most about ten thousand.
 */
const standardBounds = { entries: 10_000, characters: 4 * 1024 ** 2 };

export function createOwedEntries(most = standardBounds): OwedEntries {
  const waiting: { readonly owing: Owing; readonly entry: string }[] = [];
  const onTheirWay = new Set<Promise<void>>();
  let characters = 0;
  let timer: NodeJS.Timeout | null = null;
  let trying: Promise<void> | null = null;
  let waitMs = firstMs;

  const lost = (owing: Owing): void => {
    owing.unrecorded += 1;
  };

  // Only one try runs at a time. Two tries at the same time would write the same entry twice. They would also remove
  // the next entry, which is not written yet.
  const trySoon = (): void => {
    if (trying !== null) return;
    timer ??= setTimeout(() => {
      timer = null;
      waitMs = Math.min(waitMs * 2, longestMs);
      trying = tryAgain().finally(() => {
        trying = null;
        if (waiting.length > 0) trySoon();
      });
    }, waitMs).unref();
  };

  const keep = (owing: Owing, entry: string): void => {
    if (waiting.length >= most.entries || characters + entry.length > most.characters) return lost(owing);
    waiting.push({ owing, entry });
    characters += entry.length;
    trySoon();
  };

  const writeOrKeep = async (owing: Owing, entry: string): Promise<void> => {
    const outcome = await append(owing, entry);
    if (outcome === 'never') lost(owing);
    if (outcome === 'later') keep(owing, entry);
  };

  /** Tries the waiting entries in order. Stops when the spool refuses one, because it would refuse the others too. */
  const tryAgain = async (): Promise<void> => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const outcome = await append(first.owing, first.entry);
      if (outcome === 'later') return;
      if (outcome === 'never') lost(first.owing);
      waiting.shift();
      characters -= first.entry.length;
    }
    waitMs = firstMs;
  };

  return {
    write: (owing, entry) => {
      const writing = writeOrKeep(owing, entry).finally(() => onTheirWay.delete(writing));
      onTheirWay.add(writing);
      return writing;
    },
    close: async () => {
      // Repeats until nothing is left: an entry on its way to the spool may be refused and then wait, and new entries
      // may arrive in the meantime.
      do {
        while (trying !== null || onTheirWay.size > 0) await Promise.all([trying, ...onTheirWay]);
        if (timer !== null) clearTimeout(timer);
        timer = null;
        characters = 0;
        for (const { owing, entry } of waiting.splice(0)) if ((await append(owing, entry)) !== 'written') lost(owing);
      } while (onTheirWay.size > 0 || waiting.length > 0);
    },
  };
}

/** Tries to write the entry to the spool. `later`: a later try may succeed. `never`: no try can succeed. */
async function append({ spool }: Owing, entry: string): Promise<'written' | 'later' | 'never'> {
  try {
    await spool.appendAsync(entry);
    return 'written';
  } catch (error) {
    if (!(error instanceof AuditUnavailable)) return 'later';
    if (error.why === 'unconfirmed') return 'written';
    return error.why === 'oversized' || error.why === 'closed' ? 'never' : 'later';
  }
}

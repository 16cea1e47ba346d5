// Entries that take another one back: it says that a call or an output may pass, and the caller was told otherwise. Such an entry is owed:
// what cannot be written now is written later, so that no permit stands in the log that nobody was given.
//
// States of an entry: on its way to the spool → written, and gone; refused by the spool → waiting, tried again after a time that doubles up
// to half a minute, in order → written; lost, and counted as unrecorded, where it can never be written (too large, the spool is closed),
// where more wait than may, or where the process ends before it could be. Of all that wait one timer runs.
import { AuditUnavailable } from '../spool/unavailable.ts';
import type { Spool } from '../spool/spool.ts';

/** Who owes, and where it is written. */
interface Owing {
  readonly spool: Pick<Spool, 'appendAsync'>;
  unrecorded: number;
}

export interface OwedEntries {
  /** Resolves once it is written, or waits to be. */
  write(owing: Owing, entry: string): Promise<void>;
  /** Waits for what is on its way, and tries what waits a last time. Called before the spool is closed. */
  close(): Promise<void>;
}

const firstMs = 1_000;
const longestMs = 30_000;

/** That wait: so many, of so many characters together. One without an input has some hundred, at most some ten thousand. */
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

  // One try at a time: two would take the same entry, and drop the one behind it.
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

  /** Until the spool refuses one: the others would fare no better. */
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
      // What is on its way may be refused, and wait then; and more may come meanwhile.
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

/** Whether it is in the spool; `later`: it may be, another time. */
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

// What of a group of batches is new to the log, numbered and linked to the chain, one batch after the other. Pure.
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap } from '../../chain/link.ts';
import type { AuditBatch, ShippedRecord } from '../../domain/audit/audit-batch.ts';
import { entryFromRecord, openRecord } from '../../domain/audit/audit-entry.ts';
import { cleanText } from '../../domain/clean-json.ts';
import { badRequest } from '../../domain/refusal.ts';
import type { NumberedEntry } from '../../store/audit-copy.ts';
import type { Arrived, ChainEnd, LockedSpool, NumberedGap } from '../../store/audit-ingest.ts';

/** What of a batch becomes items of the log. */
interface FreshItems {
  readonly spoolId: string;
  readonly items: readonly Item[];
}

/** What becomes one item of the log. */
type Item = { readonly sequence: number; readonly bytes: Uint8Array } | Gap;

interface Gap {
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

const neverArrived = 'never arrived';
/** They had come, were acknowledged, and went when the database was put back from a backup of before. */
const setBack = 'newer than the backup that was restored';
const reasonMax = 500;
/** A restored database may be far behind a spool, but no spool comes so far. */
const sequencesAheadMax = 1_000_000_000;

interface Fresh {
  /** How many records are. */
  readonly records: number;
  readonly batches: readonly FreshItems[];
  /** For each batch, up to where its spool is stored once this group is. */
  readonly sequences: readonly number[];
  /** Spools that have come further. */
  readonly arrived: readonly Arrived[];
}

/** Batches of one spool in the order in which they came. Throws where a sequence cannot be. */
export function findFresh(batches: readonly AuditBatch[], locked: ReadonlyMap<string, LockedSpool>, receivedAt: Date): Fresh {
  const spools = new Map(locked);
  const arrived = new Map<string, Arrived>();
  const fresh: FreshItems[] = [];
  let records = 0;
  const sequences = batches.map(({ spoolId, records: sent }) => {
    const { stored, restored } = spools.get(spoolId) ?? { stored: 0, restored: false };
    const beyond = sent.filter(({ sequence }) => sequence > stored);
    const last = beyond.at(-1)?.sequence;
    if (last === undefined) return stored;
    if (last > stored + sequencesAheadMax)
      throw badRequest(`sequence ${last} is more than ${sequencesAheadMax} ahead of ${stored}, the last of this spool`);
    records += beyond.length;
    fresh.push({ spoolId, items: itemsOf(stored, beyond, restored ? setBack : neverArrived) });
    spools.set(spoolId, { stored: last, restored: false });
    arrived.set(spoolId, { spoolId, sequence: last, at: receivedAt });
    return last;
  });
  return { records, batches: fresh, sequences, arrived: [...arrived.values()] };
}

/** In the order of their sequences, with what the sidecar says it lost, and what is missing without a word. */
function itemsOf(stored: number, fresh: readonly ShippedRecord[], missing: string): readonly Item[] {
  const items: Item[] = [];
  let before = stored;
  for (const { sequence, content } of fresh) {
    if (sequence > before + 1) items.push({ first: before + 1, last: sequence - 1, reason: before === stored ? missing : neverArrived });
    if ('entry' in content) items.push({ sequence, bytes: content.entry });
    else
      addLoss(
        items,
        sequence,
        cleanText(content.lost, new Set())
          .slice(0, reasonMax)
          .replace(/\p{Cs}$/u, ''),
      );
    before = sequence;
  }
  return items;
}

/** Losses that follow each other for one reason are one gap. */
function addLoss(items: Item[], sequence: number, reason: string): void {
  const before = items.at(-1);
  const goesOn = before !== undefined && 'reason' in before && before.reason === reason && before.last === sequence - 1;
  if (goesOn) items.splice(-1, 1, { ...before, last: sequence });
  else items.push({ first: sequence, last: sequence, reason });
}

/**
 * Numbers the items and links them to the chain, after `start`. `entries` is walked once, and opens a record when it comes to
 * it; `gaps` and `end` hold what that has met.
 */
export function linkBatches(batches: readonly FreshItems[], start: ChainEnd, now: Date) {
  const receivedAt = now.toISOString();
  const gaps: NumberedGap[] = [];
  let { ingest, chain } = start;

  function takeGap(spoolId: string, { first, last, reason }: Gap): void {
    const digest = digestOf(ingest, canonicalGap({ spoolId, firstSequence: first, lastSequence: last, reason, receivedAt }));
    chain = valueAfterGap(chain, receivedAt, digest);
    gaps.push({ spoolId, ingest, first, last, reason, digest, receivedAt });
  }

  function* entries(): Generator<NumberedEntry> {
    for (const { spoolId, items } of batches)
      for (const item of items) {
        ingest += 1;
        if ('reason' in item) {
          takeGap(spoolId, item);
          continue;
        }
        const { sequence, bytes } = item;
        const entry = entryFromRecord(openRecord(bytes, now), { ingest, id: `${spoolId}-${sequence}`, receivedAt });
        chain = valueAfterEntry(chain, entry.ts, entry.digest);
        yield { spoolId, sequence, ingest, receivedAt, entry };
      }
  }

  return { entries, gaps, end: (): ChainEnd => ({ ingest, chain }) };
}

// Numbers the new items of a group of batches and links them to the chain, one batch after the other. Pure.
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap } from '@tollgate/proto/chain';
import { entryFromRecord, openRecord } from '../rules/audit-entry.ts';
import type { NumberedEntry } from '../store/audit-copy.ts';
import type { ChainEnd, NumberedGap } from '../store/audit-ingest.ts';
import type { FreshItems, Gap } from './judge-batches.ts';

/**
 * Numbers the items and links them to the chain, after `start`. `entries` can be iterated once, and it opens each
 * record when it reaches it. `gaps` and `end` contain the results of the items that were iterated so far.
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
    for (const { spoolId, keyId, onlySub, deliveredBy, items } of batches)
      for (const item of items) {
        ingest += 1;
        if ('reason' in item) {
          takeGap(spoolId, item);
          continue;
        }
        const { sequence, bytes } = item;
        const arrival = { ingest, id: `${spoolId}-${sequence}`, receivedAt, recordedBy: keyId, deliveredBy, onlySub };
        const entry = entryFromRecord(openRecord(bytes, now), arrival);
        chain = valueAfterEntry(chain, entry.ts, entry.digest);
        yield { spoolId, sequence, ingest, receivedAt, entry };
      }
  }

  return { entries, gaps, end: (): ChainEnd => ({ ingest, chain }) };
}

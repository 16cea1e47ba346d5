// Numbers the new items of a group of batches and links them to the chain, one batch after the other. Pure.
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap } from '@tollgate/proto/chain';
import { entryFromRecord, openRecord } from '../rules/audit-entry.ts';
import type { NumberedEntry } from '../store/audit-copy.ts';
import type { ChainEnd, NumberedGap } from '../store/audit-ingest.ts';
import type { FreshItems } from './judge-batches.ts';

interface LinkedBatches {
  readonly entries: readonly NumberedEntry[];
  readonly gaps: readonly NumberedGap[];
  readonly end: ChainEnd;
}

/** Numbers the items and links them to the chain, after `start`. */
export function linkBatches(batches: readonly FreshItems[], start: ChainEnd, now: Date): LinkedBatches {
  const receivedAt = now.toISOString();
  const entries: NumberedEntry[] = [];
  const gaps: NumberedGap[] = [];
  let { ingest, chain } = start;
  for (const { spoolId, keyId, onlySub, deliveredBy, items } of batches)
    for (const item of items) {
      ingest += 1;
      if ('reason' in item) {
        const { first, last, reason } = item;
        const digest = digestOf(ingest, canonicalGap({ spoolId, firstSequence: first, lastSequence: last, reason, receivedAt }));
        chain = valueAfterGap(chain, receivedAt, digest);
        gaps.push({ spoolId, ingest, first, last, reason, digest, receivedAt });
        continue;
      }
      const { sequence, bytes } = item;
      const arrival = { ingest, id: `${spoolId}-${sequence}`, receivedAt, recordedBy: keyId, deliveredBy, onlySub };
      const entry = entryFromRecord(openRecord(bytes, now), arrival);
      chain = valueAfterEntry(chain, entry.ts, entry.digest);
      entries.push({ spoolId, sequence, ingest, receivedAt, entry });
    }
  return { entries, gaps, end: { ingest, chain } };
}

// Numbers the new items of a group of batches and links them to the chain, one batch after the other. Pure.
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap } from '@tollgate/proto/chain';
import { entryFromRecord, openRecord } from '../rules/audit-entry.ts';
import type { NumberedEntry } from '../store/audit-copy.ts';
import type { ChainEnd, NumberedGap } from '../store/audit-ingest.ts';
import type { FreshItems } from './judge-batches.ts';

/** An item of the log, and the end of the chain after it. */
interface LinkedItem {
  readonly item: NumberedEntry | NumberedGap;
  readonly end: ChainEnd;
}

/**
 * Numbers the items and links them to the chain, after `start`. Each item is made when the caller asks for it. Otherwise
 * the objects of a whole group would outlive the young generation, and collecting them took a quarter of the CPU.
 */
export function* linkBatches(batches: readonly FreshItems[], start: ChainEnd, now: Date): Generator<LinkedItem> {
  const receivedAt = now.toISOString();
  let { ingest, chain } = start;
  for (const { spoolId, keyId, onlySub, deliveredBy, items } of batches)
    for (const item of items) {
      ingest += 1;
      if ('reason' in item) {
        const { first, last, reason } = item;
        const digest = digestOf(ingest, canonicalGap({ spoolId, firstSequence: first, lastSequence: last, reason, receivedAt }));
        chain = valueAfterGap(chain, receivedAt, digest);
        yield { item: { spoolId, ingest, first, last, reason, digest, receivedAt }, end: { ingest, chain } };
        continue;
      }
      const { sequence, bytes } = item;
      const arrival = { ingest, id: `${spoolId}-${sequence}`, receivedAt, recordedBy: keyId, deliveredBy, onlySub };
      const entry = entryFromRecord(openRecord(bytes, now), arrival);
      chain = valueAfterEntry(chain, entry.ts, entry.digest);
      yield { item: { spoolId, sequence, ingest, receivedAt, entry }, end: { ingest, chain } };
    }
}

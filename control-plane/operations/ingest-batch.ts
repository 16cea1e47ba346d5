// Takes in a batch of a sidecar's spool: offset and rows in one transaction, so that whatever is delivered twice is
// there once. What is acknowledged is committed.
import { entryFromRecord, type SpoolRecord } from '../domain/audit-entry.ts';
import { cleanText } from '../domain/clean-json.ts';
import { badRequest } from '../domain/refusal.ts';
import { copyEntries, type Gap, insertGap, lockStream, moveStream, type SequencedEntry } from '../store/audit-ingest.ts';
import { inTransaction } from '../store/transaction.ts';
import type { Deps } from './operation.ts';

export interface AuditBatch {
  /** From the credential, never from a message. */
  readonly workspaceId: number;
  /** 32 hex digits, made with the spool. */
  readonly spoolId: string;
  readonly records: readonly SpoolRecord[];
}

const spoolForm = /^[0-9a-f]{32}$/;
const reasonMax = 500;

/** Returns the sequence up to which everything of this spool is committed. */
export async function ingestBatch(
  { pool, clock }: Pick<Deps, 'pool' | 'clock'>,
  { workspaceId, spoolId, records }: AuditBatch,
): Promise<number> {
  if (!spoolForm.test(spoolId)) throw badRequest('spool_id must be 32 hex digits');
  if (!records.every(({ sequence }) => Number.isSafeInteger(sequence) && sequence > 0))
    throw badRequest('sequence must be an integer from 1');
  const now = clock();
  const stream = { workspaceId, spoolId };
  return inTransaction(pool, async (client) => {
    const stored = await lockStream(client, stream);
    const fresh = sequenced(records.filter(({ sequence }) => sequence > stored));
    const last = fresh.at(-1)?.sequence;
    if (last === undefined) return stored;
    for (const gap of gapsOf(stored, fresh)) await insertGap(client, stream, gap, now);
    await copyEntries(
      client,
      stream,
      fresh.flatMap((record) => entryOf(record, now)),
      now,
    );
    await moveStream(client, stream, last);
    return last;
  });
}

/** Ascending, each sequence once. */
function sequenced(records: readonly SpoolRecord[]): readonly SpoolRecord[] {
  const bySequence = new Map(records.map((record) => [record.sequence, record]));
  return [...bySequence.values()].sort((a, b) => a.sequence - b.sequence);
}

const entryOf = ({ sequence, content }: SpoolRecord, now: Date): readonly SequencedEntry[] =>
  'entry' in content ? [{ sequence, entry: entryFromRecord(content.entry, now) }] : [];

/** What the sidecar says it lost, and what is missing without a word. */
function gapsOf(stored: number, fresh: readonly SpoolRecord[]): readonly Gap[] {
  return fresh.flatMap(({ sequence, content }, index) => {
    const before = fresh[index - 1]?.sequence ?? stored;
    const missing = sequence > before + 1 ? [{ first: before + 1, last: sequence - 1, reason: 'never arrived' }] : [];
    const lost =
      'lost' in content ? [{ first: sequence, last: sequence, reason: cleanText(content.lost, new Set()).slice(0, reasonMax) }] : [];
    return [...missing, ...lost];
  });
}

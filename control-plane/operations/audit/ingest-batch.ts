// Takes in a batch of a sidecar's spool: offset and rows in one transaction, so that whatever is delivered twice is
// there once. What is acknowledged is committed.
import type { AuditBatch, ShippedRecord } from '../../domain/audit/audit-batch.ts';
import { entryFromRecord } from '../../domain/audit/audit-entry.ts';
import { cleanText } from '../../domain/clean-json.ts';
import { advanceSpool, copyEntries, type Gap, insertGap, lockSpool, type SequencedEntry, type SpoolId } from '../../store/audit-ingest.ts';
import { dayOf, makeDays } from '../../store/partitions.ts';
import { inTransaction } from '../../store/transaction.ts';
import { inTurns, inTurnsByKey } from '../turns.ts';
import type { Deps } from '../operation.ts';

type IngestDeps = Pick<Deps, 'pool' | 'clock'>;

/** A batch as it will be stored, parsed before anybody waits for a lock. */
interface Prepared {
  readonly spool: SpoolId;
  readonly receivedAt: Date;
  readonly records: readonly ShippedRecord[];
  readonly entries: readonly SequencedEntry[];
}

const reasonMax = 500;
/** More would take connections from everybody else. */
const atOnce = 4;

/**
 * For all streams of a process; answers the sequence up to which everything of the batch's spool is committed. Batches
 * of one workspace would wait for each other in the database; here they wait without a connection, and the next one is
 * parsed meanwhile.
 */
export function createIngest(deps: IngestDeps): (batch: AuditBatch) => Promise<number> {
  const commitInTurn = inTurnsByKey(
    ({ spool }: Prepared) => spool.workspaceId,
    (prepared) => commitBatch(deps, prepared),
  );
  return inTurns(atOnce, async (batch) => commitInTurn(prepare(batch, deps.clock())));
}

function prepare({ workspaceId, spoolId, records }: AuditBatch, receivedAt: Date): Prepared {
  const entries = records.flatMap(({ sequence, content }) =>
    'entry' in content ? [{ sequence, entry: entryFromRecord(content.entry, receivedAt) }] : [],
  );
  return { spool: { workspaceId, spoolId }, receivedAt, records, entries };
}

function commitBatch({ pool }: IngestDeps, { spool, receivedAt, records, entries }: Prepared): Promise<number> {
  const days = [...new Set(entries.map(({ entry }) => dayOf(entry.ts)))];
  return inTransaction(
    pool,
    async (client) => {
      const { stored, missingDays } = await lockSpool(client, spool, days);
      const fresh = records.filter(({ sequence }) => sequence > stored);
      const last = fresh.at(-1)?.sequence;
      if (last === undefined) return stored;
      await makeDays(client, missingDays);
      for (const gap of gapsOf(stored, fresh)) await insertGap(client, spool, gap, receivedAt);
      const added = entries.filter(({ sequence }) => sequence > stored);
      const firstIngest = await advanceSpool(client, spool, last, added.length);
      await copyEntries(client, { spool, entries: added, firstIngest, receivedAt });
      return last;
    },
    'patient',
  );
}

/** What the sidecar says it lost, and what is missing without a word. */
function gapsOf(stored: number, fresh: readonly ShippedRecord[]): readonly Gap[] {
  return fresh.flatMap(({ sequence, content }, index) => {
    const before = fresh[index - 1]?.sequence ?? stored;
    const missing = sequence > before + 1 ? [{ first: before + 1, last: sequence - 1, reason: 'never arrived' }] : [];
    const lost =
      'lost' in content ? [{ first: sequence, last: sequence, reason: cleanText(content.lost, new Set()).slice(0, reasonMax) }] : [];
    return [...missing, ...lost];
  });
}

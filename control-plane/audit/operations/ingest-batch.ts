// Stores batches of the sidecars' spools. Offsets, rows, their counts and the new chain value are written in one
// transaction, so that a record that is delivered twice is stored and counted once. An acknowledged record is committed. A commit costs the same for one
// batch as for many. Therefore batches of a workspace that arrive during a commit are committed together, and batches
// that can wait are gathered for a short time before a commit. 200 sidecars with one entry every two seconds then need
// 11 commits a second, not 45.
import { bounds } from '@tollgate/proto/contract';
import type { AuditBatch, IngestResult } from '../rules/audit-batch.ts';
import { openRecord } from '../rules/audit-entry.ts';
import { copyEntries, type NumberedEntry } from '../store/audit-copy.ts';
import { advanceLog, type ChainEnd, deleteUnbegunSpools, insertGaps, listSent, lockLog, type NumberedGap } from '../store/audit-ingest.ts';
import { dayOf, isDayGone, makeDays } from '../store/partitions.ts';
import { createTally } from '../../statistics/rules/tally.ts';
import { addCounts } from '../../statistics/store/counts.ts';
import { inTransaction } from '../../database/transaction.ts';
import { isAway } from '../../base/unavailable.ts';
import { inGroups } from '../../base/groups.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { comesAgain, judgeBatches } from './judge-batches.ts';
import { linkBatches } from './link-batches.ts';

interface IngestDeps extends Pick<OperationDeps, 'pool' | 'clock'> {
  /** Called with the number of records that are newly in the log. */
  readonly committed?: (records: number) => void;
  /** Returns whether a live stream shows the entries of the workspace. Its batches do not wait. */
  readonly isWatched?: (workspaceId: number) => boolean;
}

/** How many groups are committed at the same time. A higher number would take connections from all other work. */
const atOnce = 4;

/**
 * How long a batch that can wait is gathered with others. With the wait in the sidecar and the interval of
 * `watchHeads`, another control plane still shows an entry on a live stream within 250 ms.
 */
const gatherMs = 75;
/**
 * Enough records for a commit: as many as a group can have. A commit of 500 entries takes a quarter less CPU for each
 * entry than a commit of 128.
 */
const gatheredRecords = bounds.auditBatchRecords;

/** Returns the function that stores batches. Use one instance for all streams of a process. */
export function createIngest(deps: IngestDeps): (batch: AuditBatch) => Promise<IngestResult> {
  const canWait = (batches: readonly AuditBatch[]): boolean =>
    batches.every((batch) => batch.canWait) &&
    batches.reduce((sum, { records }) => sum + records.length, 0) < gatheredRecords &&
    deps.isWatched?.(batches[0]?.workspaceId ?? 0) !== true;
  return inGroups({
    keyOf: ({ workspaceId }: AuditBatch) => workspaceId,
    atOnce,
    openGroup,
    gather: { ms: gatherMs, canWait },
    run: (batches) => (batches.length === 1 ? commitAlone(deps, batches) : commitBatches(deps, batches)),
    failsAll: isAway,
  });
}

/**
 * Returns a function that tells whether the next batch still fits into a group. A group is not larger than the maximum
 * size of one batch.
 */
function openGroup(): (batch: AuditBatch) => boolean {
  let count = 0;
  let sum = 0;
  return ({ records, bytes }) => {
    count += records.length;
    sum += bytes;
    return count <= bounds.auditBatchRecords && sum <= bounds.auditBatchBytes;
  };
}

/**
 * Commits a single batch. Nearly all entries belong to a day that has a partition. Therefore missing days are searched
 * and created only after a commit has failed because of a missing day. If retention drops the day in between, this is
 * done once more. It is done only for a single batch, because creating a day can take long or fail.
 */
async function commitAlone(deps: IngestDeps, batches: readonly AuditBatch[]): Promise<readonly IngestResult[]> {
  const commitWithDays = (error: unknown): Promise<readonly IngestResult[]> => {
    if (!isDayGone(error)) throw error;
    return commitBatches(deps, batches, daysOf);
  };
  return commitBatches(deps, batches).catch(commitWithDays).catch(commitWithDays);
}

type FindDays = (batches: readonly AuditBatch[], now: Date) => readonly string[];

const daysOf: FindDays = (batches, now) => {
  const days = new Set<string>();
  for (const { records } of batches)
    for (const { content } of records) if ('entry' in content) days.add(dayOf(openRecord(content.entry, now).time));
  return [...days];
};

const spanOf = (batches: readonly AuditBatch[]): { readonly first: number; readonly last: number } => ({
  first: Math.min(...batches.map(({ first }) => first)),
  last: Math.max(...batches.map(({ last }) => last)),
});

/** Commits all batches of one workspace, or none. Creates the missing days among the days that `findDays` returns. */
async function commitBatches(
  { pool, clock, committed }: IngestDeps,
  batches: readonly AuditBatch[],
  findDays: FindDays = () => [],
): Promise<readonly IngestResult[]> {
  const receivedAt = clock();
  const days = findDays(batches, receivedAt);
  const workspaceId = batches[0]?.workspaceId ?? 0;
  const spoolIds = [...new Set(batches.map(({ spoolId }) => spoolId))];
  const { answers, records } = await inTransaction(
    pool,
    async (client) => {
      const { spools, workspace, missingDays, ...start } = await lockLog(client, workspaceId, spoolIds, days);
      const again = batches.filter((batch) => comesAgain(batch, spools.get(batch.spoolId)));
      const sent =
        again.length === 0 ? [] : await listSent(client, workspaceId, [...new Set(again.map(({ spoolId }) => spoolId))], spanOf(again));
      const judged = judgeBatches(batches, { workspace, spools, sent }, receivedAt);
      const arrived = new Set(judged.arrived.map(({ spoolId }) => spoolId));
      const unbegun = spoolIds.filter((id) => !arrived.has(id) && spools.get(id)?.stored === 0);
      if (unbegun.length > 0) await deleteUnbegunSpools(client, workspaceId, unbegun);
      if (judged.arrived.length === 0) return judged;
      await makeDays(client, missingDays);
      const gaps: NumberedGap[] = [];
      let end: ChainEnd = start;
      const tally = createTally();
      const takeEntries = function* (): Generator<NumberedEntry> {
        for (const { item, ...after } of linkBatches(judged.fresh, start, receivedAt)) {
          end = after.end;
          if ('reason' in item) {
            gaps.push(item);
            continue;
          }
          tally.add(item.entry);
          yield item;
        }
      };
      await copyEntries(client, workspaceId, takeEntries());
      await addCounts(client, workspaceId, { after: start.ingest, upTo: end.ingest }, tally.read());
      await insertGaps(client, workspaceId, gaps);
      await advanceLog(client, workspaceId, judged, end);
      return judged;
    },
    'patient',
  );
  committed?.(records);
  return answers;
}

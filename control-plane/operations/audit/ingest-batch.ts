// Takes in a batch of a sidecar's spool: offset, rows and the chain's new value in one transaction, so that whatever is
// delivered twice is there once. What is acknowledged is committed.
import { canonicalGap, digestOf, valueAfterEntry, valueAfterGap } from '../../chain/link.ts';
import type { AuditBatch, ShippedRecord } from '../../domain/audit/audit-batch.ts';
import { entryFromRecord, type OpenedRecord, openRecord } from '../../domain/audit/audit-entry.ts';
import { cleanText } from '../../domain/clean-json.ts';
import { badRequest } from '../../domain/refusal.ts';
import {
  advanceLog,
  type ChainEnd,
  copyEntries,
  insertGaps,
  lockLog,
  type NumberedEntry,
  type NumberedGap,
  type SpoolId,
} from '../../store/audit-ingest.ts';
import { dayOf, isDayGone, makeDays } from '../../store/partitions.ts';
import { inTransaction } from '../../store/transaction.ts';
import { inTurns, inTurnsByKey } from '../turns.ts';
import type { Deps } from '../operation.ts';

type IngestDeps = Pick<Deps, 'pool' | 'clock'>;

/** A batch as far as it is known before anybody waits for a lock. */
interface Prepared {
  readonly spool: SpoolId;
  readonly receivedAt: Date;
  readonly records: readonly PreparedRecord[];
}

interface PreparedRecord {
  readonly sequence: number;
  readonly content: { readonly opened: OpenedRecord } | { readonly lost: string };
}

/** What becomes one item of the log. */
type Item = { readonly sequence: number; readonly opened: OpenedRecord } | Gap;

interface Gap {
  readonly first: number;
  readonly last: number;
  readonly reason: string;
}

const neverArrived = 'never arrived';
/** They had come, were acknowledged, and went when the database was put back from a backup of before. */
const setBack = 'newer than the backup that was restored';
const reasonMax = 500;
/** More would take connections from everybody else. */
const atOnce = 4;
/** Of one workspace: one is taken in, one is ready to be. With more, a busy workspace would stand in everybody's way. */
const atOnceOfWorkspace = 2;
/** A restored database may be far behind a spool, but no spool comes so far. */
const sequencesAheadMax = 1_000_000_000;

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
  const take = inTurns(atOnce, async (batch: AuditBatch) => commitInTurn(prepare(batch, deps.clock())));
  return inTurnsByKey(({ workspaceId }: AuditBatch) => workspaceId, take, atOnceOfWorkspace);
}

const prepare = ({ workspaceId, spoolId, records }: AuditBatch, receivedAt: Date): Prepared => ({
  spool: { workspaceId, spoolId },
  receivedAt,
  records: records.map(({ sequence, content }: ShippedRecord) => ({
    sequence,
    content: 'entry' in content ? { opened: openRecord(content.entry, receivedAt) } : content,
  })),
});

/** Once more where retention dropped a day under it: the day is made anew then. */
function commitBatch(deps: IngestDeps, prepared: Prepared): Promise<number> {
  return tryCommit(deps, prepared).catch((error: unknown) => {
    if (!isDayGone(error)) throw error;
    return tryCommit(deps, prepared);
  });
}

function tryCommit({ pool }: IngestDeps, { spool, receivedAt, records }: Prepared): Promise<number> {
  const days = [...new Set(records.flatMap(({ content }) => ('opened' in content ? [dayOf(content.opened.time)] : [])))];
  return inTransaction(
    pool,
    async (client) => {
      const { stored, restored, missingDays, ...end } = await lockLog(client, spool, days);
      const fresh = records.filter(({ sequence }) => sequence > stored);
      const last = fresh.at(-1)?.sequence;
      if (last === undefined) return stored;
      if (last > stored + sequencesAheadMax)
        throw badRequest(`sequence ${last} is more than ${sequencesAheadMax} ahead of ${stored}, the last of this spool`);
      await makeDays(client, missingDays);
      const taking = takeItems(itemsOf(stored, fresh, restored ? setBack : neverArrived), { spool, receivedAt, end });
      if (fresh.some(({ content }) => 'opened' in content)) await copyEntries(client, { spool, entries: taking.entries(), receivedAt });
      else for (const _ of taking.entries());
      await insertGaps(client, spool, taking.gaps, receivedAt);
      await advanceLog(client, spool, { sequence: last, at: receivedAt, ...taking.end() });
      return last;
    },
    'patient',
  );
}

/** In the order of their sequences, with what the sidecar says it lost, and what is missing without a word. */
function itemsOf(stored: number, fresh: readonly PreparedRecord[], missing: string): readonly Item[] {
  const items: Item[] = [];
  let before = stored;
  for (const { sequence, content } of fresh) {
    if (sequence > before + 1) items.push({ first: before + 1, last: sequence - 1, reason: before === stored ? missing : neverArrived });
    if ('opened' in content) items.push({ sequence, opened: content.opened });
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

interface Taking {
  readonly spool: SpoolId;
  readonly receivedAt: Date;
  readonly end: ChainEnd;
}

/** Numbers the items and links them to the chain. `entries` is walked once; `gaps` and `end` hold what that has met. */
function takeItems(items: readonly Item[], { spool, receivedAt: at, end }: Taking) {
  const receivedAt = at.toISOString();
  const gaps: NumberedGap[] = [];
  let { ingest, chain } = end;

  function takeGap({ first, last, reason }: Gap): void {
    const digest = digestOf(ingest, canonicalGap({ spoolId: spool.spoolId, firstSequence: first, lastSequence: last, reason, receivedAt }));
    chain = valueAfterGap(chain, receivedAt, digest);
    gaps.push({ ingest, first, last, reason, digest });
  }

  function* entries(): Generator<NumberedEntry> {
    for (const item of items) {
      ingest += 1;
      if ('reason' in item) {
        takeGap(item);
        continue;
      }
      const { sequence, opened } = item;
      const entry = entryFromRecord(opened, { ingest, id: `${spool.spoolId}-${sequence}`, receivedAt });
      chain = valueAfterEntry(chain, entry.ts, entry.digest);
      yield { sequence, ingest, entry };
    }
  }

  return { entries, gaps, end: (): ChainEnd => ({ ingest, chain }) };
}

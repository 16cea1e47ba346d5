// Takes in a batch of a sidecar's spool: offset and rows in one transaction, so that whatever is delivered twice is
// there once. What is acknowledged is committed.
import { entryFromRecord, type SpoolRecord } from '../domain/audit-entry.ts';
import { cleanText } from '../domain/clean-json.ts';
import { badRequest } from '../domain/refusal.ts';
import { copyEntries, type Gap, insertGap, moveStream, openStream, type SequencedEntry, type StreamId } from '../store/audit-ingest.ts';
import { dayOf } from '../store/partitions.ts';
import { inTransaction } from '../store/transaction.ts';
import type { Deps } from './operation.ts';
import { inTurns, inTurnsByKey } from './turns.ts';

export interface AuditBatch {
  /** From the credential, never from a message. */
  readonly workspaceId: number;
  /** 32 hex digits, made with the spool. */
  readonly spoolId: string;
  readonly records: readonly SpoolRecord[];
}

type IngestDeps = Pick<Deps, 'pool' | 'clock'>;

/** A batch as it will be stored, parsed before anybody waits for a lock. */
interface Prepared {
  readonly stream: StreamId;
  readonly receivedAt: Date;
  /** Ascending, each sequence once. */
  readonly records: readonly SpoolRecord[];
  readonly entries: readonly SequencedEntry[];
}

const spoolForm = /^[0-9a-f]{32}$/;
const reasonMax = 500;
/** More would take connections from everybody else. */
const atOnce = 4;

/**
 * `ingestBatch` for all streams of a process. Batches of one workspace would wait for each other in the database; here
 * they wait without a connection, and the next one is parsed meanwhile.
 */
export function createIngest(deps: IngestDeps): (batch: AuditBatch) => Promise<number> {
  const storeInTurn = inTurnsByKey(
    ({ stream }: Prepared) => stream.workspaceId,
    (prepared) => store(deps, prepared),
  );
  return inTurns(atOnce, async (batch) => storeInTurn(prepare(batch, deps.clock())));
}

/** Returns the sequence up to which everything of this spool is committed. */
export const ingestBatch = async (deps: IngestDeps, batch: AuditBatch): Promise<number> => store(deps, prepare(batch, deps.clock()));

function prepare({ workspaceId, spoolId, records }: AuditBatch, receivedAt: Date): Prepared {
  if (!spoolForm.test(spoolId)) throw badRequest('spool_id must be 32 hex digits');
  if (!records.every(({ sequence }) => Number.isSafeInteger(sequence) && sequence > 0))
    throw badRequest('sequence must be an integer from 1');
  const bySequence = new Map(records.map((record) => [record.sequence, record]));
  const ordered = [...bySequence.values()].sort((a, b) => a.sequence - b.sequence);
  const entries = ordered.flatMap(({ sequence, content }) =>
    'entry' in content ? [{ sequence, entry: entryFromRecord(content.entry, receivedAt) }] : [],
  );
  return { stream: { workspaceId, spoolId }, receivedAt, records: ordered, entries };
}

function store({ pool }: IngestDeps, { stream, receivedAt, records, entries }: Prepared): Promise<number> {
  const days = [...new Set(entries.map(({ entry }) => dayOf(entry.ts)))];
  return inTransaction(
    pool,
    async (client) => {
      const stored = await openStream(client, stream, days);
      const fresh = records.filter(({ sequence }) => sequence > stored);
      const last = fresh.at(-1)?.sequence;
      if (last === undefined) return stored;
      for (const gap of gapsOf(stored, fresh)) await insertGap(client, stream, gap, receivedAt);
      const added = entries.filter(({ sequence }) => sequence > stored);
      const firstIngest = await moveStream(client, stream, last, added.length);
      await copyEntries(client, { stream, entries: added, firstIngest, receivedAt });
      return last;
    },
    'patient',
  );
}

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

// Makes checkpoints of a log: on each request, and in a periodic job if there are new items. A checkpoint is refused if
// the log does not continue from its earlier checkpoints, for example because the database was rolled back. Our own
// code never shrinks or changes the log.
import { type Checkpoint, logKeyText, signedNote } from '@tollgate/proto/chain';
import { oneMore, pageOf, type PageWanted } from '../../base/page.ts';
import { conflict, notFound } from '../../base/refusal.ts';
import { type SigningKey, signingKeyCursorOf } from '../rules/signing-key.ts';
import {
  findCheckpoint,
  findStray,
  hasKey,
  listKeys,
  listUnsigned,
  openLog,
  type StoredLog,
  writeCheckpoint,
} from '../store/audit-chain.ts';
import { startOfDay } from '../store/partitions.ts';
import { loggable } from '../../base/loggable.ts';
import { type OperationDeps, effectOperation } from '../../access/operation.ts';
import { sizeFrom } from './size.ts';

const dayMs = 86_400_000;

type SigningDeps = Pick<OperationDeps, 'pool' | 'clock' | 'notary'>;

export interface SignedLog {
  readonly log: StoredLog;
  readonly checkpoint: Checkpoint;
  readonly note: string;
}

/** Signs a checkpoint of everything that has arrived so far. */
export async function signLog({ pool, clock, notary }: SigningDeps, workspaceId: number): Promise<SignedLog> {
  const log = await openLog(pool, workspaceId);
  const { origin, ingest: size, chain } = log;
  const madeAt = clock();
  const stray = await findStray(pool, workspaceId, startOfDay(new Date(madeAt.getTime() - notary.retentionDays * dayMs)));
  if (stray !== null)
    throw conflict(`entry ${stray.id} has number ${stray.ingest}, which is not in the log (it holds ${size} items): it was inserted`);
  const checkpoint = { origin, size, chain, madeAt: madeAt.toISOString(), retentionDays: notary.retentionDays };
  const note = signedNote(checkpoint, notary.publicKey, notary.sign);
  const newest = await findCheckpoint(pool, workspaceId);
  // Another control plane may have signed a larger log since this log was read. Therefore the log is read again.
  const isBehind = newest !== null && newest.size > size && newest.size > (await openLog(pool, workspaceId)).ingest;
  if (isBehind || !(await writeCheckpoint(pool, workspaceId, { size, chain, madeAt, note }, notary.publicKey)))
    throw conflict(
      `the log holds ${size} items and does not continue its checkpoint of ${newest?.size ?? size} items: it was changed or rolled back`,
    );
  return { log, checkpoint, note };
}

export const makeCheckpoint = effectOperation('audit.read', async (deps, { workspaceId }, _input: null) => {
  const { checkpoint, note } = await signLog(deps, workspaceId);
  return shownCheckpoint(checkpoint.size, note);
});

/** Returns a stored checkpoint of exactly `size` items, or the newest one if `size` is null. */
export const readCheckpoint = effectOperation('audit.read', async ({ pool }, { workspaceId }, size: string | null) => {
  const wanted = size === null ? null : sizeFrom('size', size);
  const found = await findCheckpoint(pool, workspaceId, wanted ?? undefined);
  if (found === null || (wanted !== null && found.size !== wanted))
    throw notFound(size === null ? 'no checkpoint has been made yet' : `no checkpoint of ${size} items is kept`);
  return shownCheckpoint(found.size, found.note);
});

const shownCheckpoint = (size: number, note: string) => ({ size, checkpoint: note });

/**
 * Lists the keys that can sign checkpoints of this log, oldest first. The key of this control plane is the last one as long
 * as it has signed none.
 */
export const listLogKeys = effectOperation(
  'audit.read',
  async ({ pool, clock, notary }, { workspaceId }, { limit, after }: PageWanted<SigningKey>) => {
    const { origin } = await openLog(pool, workspaceId);
    const stored = await listKeys(pool, { limit: oneMore(limit), after });
    const isLast = limit === null || stored.length <= limit;
    const own = isLast && !(await hasKey(pool, notary.publicKey)) ? [{ publicKey: notary.publicKey, since: clock() }] : [];
    const { items, ...rest } = pageOf([...stored, ...own], limit, signingKeyCursorOf);
    return {
      origin,
      keys: items.map(({ publicKey, since }) => ({ key: logKeyText(origin, publicKey), since: since.toISOString() })),
      ...rest,
    };
  },
);

interface DueCheckpointsDeps extends SigningDeps {
  readonly log: { error(fields: object, message: string): void };
}

/** Periodic job of every control plane, each minute. Safe when two processes run it at the same time. */
export async function makeDueCheckpoints(deps: DueCheckpointsDeps): Promise<void> {
  for (const workspaceId of await listUnsigned(deps.pool)) {
    // A failure in the log of one workspace must not stop the others.
    await signLog(deps, workspaceId).catch((error: unknown) =>
      deps.log.error({ ...loggable(error), workspaceId }, 'a checkpoint of the audit log could not be created'),
    );
  }
}

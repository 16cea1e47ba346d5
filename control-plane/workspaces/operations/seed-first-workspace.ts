// Prepares an empty database at the first start: an epoch, a workspace, its owner and the owner's key. Every start
// calls this code. If the database is already prepared, the code changes nothing. If two replicas start at the same
// time, only one of them prepares the database.
import { hashKey, parseKey } from '@tollgate/proto/contract';
import { makeSecret, secretOf } from '../../access/rules/key.ts';
import { insertDeployment, lockStart, readDeployment } from '../../database/deployment.ts';
import { inTransaction } from '../../database/transaction.ts';
import { notUnderstood } from '../../database/operations/join.ts';
import { foundWorkspace } from './create-workspace.ts';
import type { OperationDeps } from '../../access/operation.ts';

export interface FirstWorkspace {
  readonly workspace: string;
  readonly ownerEmail: string;
  /** The value of `TOLLGATE_OWNER_KEY`. */
  readonly ownerKey: string | null;
}

export type SeedResult =
  /** `key`: the new key, which must be printed once. Null: the operator has provided the key. */
  | { readonly kind: 'created'; readonly workspace: string; readonly key: string | null }
  | { readonly kind: 'present' }
  /** The program must not start, for this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

const ownerUid = 'owner';
const epochBytes = 16;

export async function seedFirstWorkspace(
  deps: Pick<OperationDeps, 'pool' | 'clock' | 'random'>,
  { workspace, ownerEmail, ownerKey }: FirstWorkspace,
): Promise<SeedResult> {
  if (ownerKey !== null && parseKey(ownerKey) === null) return refused('is not a key: gsk_<workspace>_ and 32 to 64 letters and digits');
  return inTransaction(deps.pool, async (client) => {
    await lockStart(client);
    const deployment = await readDeployment(client);
    if (deployment !== null) {
      const problem = notUnderstood(deployment);
      if (problem !== null) return { kind: 'refused', reason: problem };
      const same = ownerKey === null || hashKey(ownerKey) === deployment.ownerKeyHash;
      return same
        ? { kind: 'present' }
        : refused(
            'is not the one this database was first started with; unset it, and make and revoke keys with POST and DELETE /{workspace}/admin/keys',
          );
    }
    if (ownerKey !== null && parseKey(ownerKey)?.workspace !== workspace)
      return refused(`is not a key of the workspace ${JSON.stringify(workspace)}`);
    const secret = ownerKey === null ? makeSecret(deps.random, workspace) : secretOf(ownerKey);
    const epoch = Buffer.from(deps.random(epochBytes)).toString('hex');
    await insertDeployment(client, { epoch, ownerKeyHash: secret.hash }, deps.clock());
    await foundWorkspace(deps, client, { slug: workspace, owner: { uid: ownerUid, email: ownerEmail } }, secret);
    return { kind: 'created', workspace, key: ownerKey === null ? secret.key : null };
  });
}

const refused = (why: string): SeedResult => ({ kind: 'refused', reason: `TOLLGATE_OWNER_KEY ${why}` });

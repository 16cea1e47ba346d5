// Creates a key with all scopes for an owner of a workspace. The caller needs no key. A person who can write to the
// database asks for it on the command line; it is not part of the API. An admin event records it, and running control
// planes are notified as after any other write.

import { makeId, makeSecret, ownersKey } from '../rules/key.ts';
import { hasTable } from '../../database/deployment.ts';
import { insertEvents } from '../../audit/store/events.ts';
import { insertKey } from '../store/keys.ts';
import { listMembers } from '../store/members.ts';
import { raiseRevision } from '../../workspaces/store/revision.ts';
import { inTransaction } from '../../database/transaction.ts';
import { findWorkspaceId } from '../../workspaces/store/workspaces.ts';
import type { OperationDeps } from '../operation.ts';

export type OwnerRecovery =
  | { readonly kind: 'recovered'; readonly id: string; readonly uid: string; readonly key: string }
  /** `refused`: nothing was done, for this reason. */
  | { readonly kind: 'refused'; readonly reason: string };

const refused = (reason: string): OwnerRecovery => ({ kind: 'refused', reason });

/** The name of the actor in the event. No member's key made the change. */
const operator = 'operator';

/** Creates the key for the owner who was added first. */
export async function recoverOwner(
  { pool, random, clock }: Pick<OperationDeps, 'pool' | 'random' | 'clock'>,
  workspace: string,
): Promise<OwnerRecovery> {
  if (!(await hasTable(pool, 'deployment'))) return refused('this database holds no workspaces: no control plane has run on it');
  return inTransaction(
    pool,
    async (client) => {
      const workspaceId = await findWorkspaceId(client, workspace);
      if (workspaceId === null) return refused(`there is no workspace ${JSON.stringify(workspace)}`);
      const revision = await raiseRevision(client, workspaceId);
      const owners = (await listMembers(client, workspaceId)).filter(({ role }) => role === 'owner');
      const [owner] = owners.toSorted((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
      if (owner === undefined) return refused(`the workspace ${workspace} has no owner`);
      const [now, id, secret] = [clock(), makeId(random), makeSecret(random, workspace)];
      const { uid } = owner;
      const key = ownersKey(id, 'recovered', secret, { uid, now });
      await insertKey(client, workspaceId, key, secret);
      const detail = { name: key.name, scopes: key.scopes, uid, recovered: true };
      await insertEvents(client, workspaceId, {
        at: now,
        sub: operator,
        keyId: operator,
        action: 'key.create',
        targets: [`key/${id}`],
        revision,
        detail,
      });
      return { kind: 'recovered', id, uid, key: secret.key };
    },
    'write',
    ({ kind }) => kind === 'recovered',
  );
}

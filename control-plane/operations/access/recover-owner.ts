// A key of all scopes for an owner of a workspace, made without anybody's key: asked for on the command line by who can write to the
// database, no part of the API. An admin event says that it was made, and control planes that run hear of it as of any write.
import { makeId, makeSecret, ownersKey } from '../../domain/access/key.ts';
import { hasTable } from '../../store/deployment.ts';
import { insertEvents } from '../../store/events.ts';
import { insertKey } from '../../store/keys.ts';
import { listMembers } from '../../store/members.ts';
import { raiseRevision } from '../../store/revision.ts';
import { inTransaction } from '../../store/transaction.ts';
import { findWorkspaceId } from '../../store/workspaces.ts';
import type { Deps } from '../operation.ts';

export type Recovered =
  | { readonly kind: 'recovered'; readonly id: string; readonly uid: string; readonly key: string }
  /** Why nothing was done. */
  | { readonly kind: 'refused'; readonly reason: string };

const refused = (reason: string): Recovered => ({ kind: 'refused', reason });

/** Who is named in the event: no member's key did it. */
const operator = 'operator';

/** The owner that was first. */
export async function recoverOwner(
  { pool, random, clock }: Pick<Deps, 'pool' | 'random' | 'clock'>,
  workspace: string,
): Promise<Recovered> {
  if (!(await hasTable(pool, 'deployment'))) return refused('this database holds no workspaces: no control plane ever ran on it');
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

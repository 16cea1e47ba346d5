// Creates workspaces. This is for the operator, who is not a member of any workspace.
import { isSlug } from '@tollgate/proto/contract';
import type pg from 'pg';
import { type FreshSecret, makeId, makeSecret, ownersKey } from '../../access/rules/key.ts';
import { checkEmail, checkUid } from '../../access/rules/member.ts';
import { conflict, refuseIfAny } from '../../base/refusal.ts';
import { insertKey } from '../../access/store/keys.ts';
import { insertMember } from '../../access/store/members.ts';
import { inTransaction } from '../../database/transaction.ts';
import { insertWorkspace } from '../store/workspaces.ts';
import type { OperationDeps } from '../../access/operation.ts';

export interface NewWorkspace {
  readonly slug: string;
  readonly owner: { readonly uid: string; readonly email: string };
}

/** Creates the workspace with its owner and the owner's key, which has all scopes. The key is shown only once. */
export async function createWorkspace(
  deps: Pick<OperationDeps, 'pool' | 'clock' | 'random' | 'keyLookups'>,
  input: NewWorkspace,
): Promise<{ readonly slug: string; readonly key: string }> {
  const created = await inTransaction(deps.pool, async (client) => {
    const secret = makeSecret(deps.random, input.slug);
    await foundWorkspace(deps, client, input, secret);
    return { slug: input.slug, key: secret.key };
  });
  deps.keyLookups.outdate();
  return created;
}

/** Creates the workspace in the caller's transaction. */
export async function foundWorkspace(
  deps: Pick<OperationDeps, 'clock' | 'random'>,
  client: pg.PoolClient,
  { slug, owner }: NewWorkspace,
  secret: FreshSecret,
): Promise<void> {
  const { uid, email } = owner;
  const slugProblems = isSlug(slug)
    ? []
    : [{ path: 'slug', message: 'must be 1 to 40 of a-z 0-9 and -, neither first nor last, and no reserved word' }];
  refuseIfAny([...slugProblems, ...checkUid(uid), ...checkEmail(email)]);
  const now = deps.clock();
  const id = await insertWorkspace(client, slug, now);
  if (id === null) throw conflict('a workspace with this slug already exists');
  await insertMember(client, id, { uid, email, role: 'owner', createdAt: now });
  const key = ownersKey(makeId(deps.random), 'owner', secret, { uid, now });
  await insertKey(client, id, key, secret);
}

// Brings the organisation's policy documents back to what they were at a revision, as a new one. Keys, members, agents,
// and what members wrote about themselves stay as they are; to who is no member today nothing is given back.
import { documentKey, layers } from '@tollgate/proto/contract';
import type { StoredDocument } from '../../domain/policies/policy.ts';
import { checkDocuments, isOfSet, type WantedDocuments } from '../../domain/policies/policy-set.ts';
import { notFound, refuseIfAny } from '../../domain/refusal.ts';
import { listMembers } from '../../store/members.ts';
import { listDocuments } from '../../store/policies.ts';
import { listDocumentsAt } from '../../store/policy-history.ts';
import { previewOperation, effectOperation, type Write, writeOperation } from '../operation.ts';
import { applyDocuments, previewDocuments } from './apply-policies.ts';

interface Rollback {
  readonly revision: number;
  readonly dryRun: boolean;
}

export const rollbackPolicies = effectOperation('policy.rollback', async (deps, actor, { revision, dryRun }: Rollback, circumstances) =>
  (dryRun ? preview : rollback)(deps, actor, revision, circumstances),
);

const preview = previewOperation('policy.rollback', async (write, revision: number) =>
  previewDocuments(write, await documentsAt(write, revision)),
);
const rollback = writeOperation('policy.rollback', async (write, revision: number) => ({
  ...(await applyDocuments(write, await documentsAt(write, revision))),
  detail: { to: revision },
}));

async function documentsAt(write: Write, revision: number): Promise<WantedDocuments> {
  const present = write.revision - 1;
  if (revision > present) throw notFound(`there is no revision ${revision} yet; the present one is ${present}`);
  const documents = await membersAsThen(write, await listDocumentsAt(write.client, write.workspaceId, revision));
  // What was taken then need not be taken today.
  refuseIfAny(checkDocuments(documents));
  return { layers, documents };
}

/**
 * The next holder of a uid inherits nothing of the one before: nothing is given back to who is no member. What was
 * written ahead for one stays as it is today if it was there then, and goes if it was not.
 */
async function membersAsThen({ client, workspaceId }: Write, past: readonly StoredDocument[]): Promise<readonly StoredDocument[]> {
  const uids = new Set((await listMembers(client, workspaceId)).map(({ uid }) => uid));
  const ofStranger = ({ id }: StoredDocument): boolean => id.layer === 'user' && !uids.has(id.uid);
  const then = new Set(past.map(({ id }) => documentKey(id)));
  return [
    ...past.filter((one) => !ofStranger(one)),
    ...(await listDocuments(client, workspaceId, 'user')).filter((one) => ofStranger(one) && isOfSet(one) && then.has(documentKey(one.id))),
  ];
}

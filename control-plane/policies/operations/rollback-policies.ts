// Restores the organisation's policy documents to their state at a revision, as a new revision. Keys, members, agents,
// and the parts that members wrote about themselves do not change. Documents of people who are not members today are
// not restored.
import { documentKey, layers } from '@tollgate/proto/contract';
import { checkDocuments, isOfSet, type StoredDocument, type WantedDocuments } from '@tollgate/sidecar/engine/compile';
import { notFound, refuseIfAny } from '../../base/refusal.ts';
import { listMembers } from '../../access/store/members.ts';
import { listDocuments } from '../store/policies.ts';
import { listDocumentsAt } from '../store/policy-history.ts';
import { previewOperation, effectOperation, type Write, writeOperation } from '../../access/operation.ts';
import { applyDocuments, previewDocuments } from './apply-policies.ts';
import { readAhead } from './read-ahead.ts';

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
  if (revision > present) throw notFound(`there is no revision ${revision} yet; the current one is ${present}`);
  const documents = await membersAsThen(write, await listDocumentsAt(write.client, write.workspaceId, revision));
  await readAhead(documents.map(({ document }) => document));
  // A document that was valid at that revision can be invalid today.
  refuseIfAny(checkDocuments(documents));
  return { layers, documents };
}

/**
 * Returns the documents to restore. The next member with a uid must inherit nothing from the previous one. Therefore
 * documents of people who are not members are not restored. A document that was written in advance for a future member
 * keeps its present content if it existed at that revision; otherwise it is removed.
 */
async function membersAsThen({ client, workspaceId }: Write, past: readonly StoredDocument[]): Promise<readonly StoredDocument[]> {
  const uids = new Set((await listMembers(client, workspaceId)).map(({ uid }) => uid));
  const isOfNonMember = ({ id }: StoredDocument): boolean => id.layer === 'user' && !uids.has(id.uid);
  const then = new Set(past.map(({ id }) => documentKey(id)));
  return [
    ...past.filter((one) => !isOfNonMember(one)),
    ...(await listDocuments(client, workspaceId, 'user')).filter(
      (one) => isOfNonMember(one) && isOfSet(one) && then.has(documentKey(one.id)),
    ),
  ];
}

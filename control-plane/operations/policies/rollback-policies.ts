// Brings the organisation's policy documents back to what they were at a revision, as a new one. Keys, members, agents
// and what members wrote about themselves stay as they are.
import { layers } from '@tollgate/proto/contract';
import { checkDocuments } from '../../domain/policies/policy-set.ts';
import { notFound, refuseIfAny } from '../../domain/refusal.ts';
import { listDocumentsAt } from '../../store/policy-history.ts';
import { applyDocuments } from './apply-policies.ts';
import { writeOperation } from '../operation.ts';

interface Rollback {
  readonly revision: number;
  readonly dryRun: boolean;
}

export const rollbackPolicies = writeOperation('policy.rollback', async (write, { revision, dryRun }: Rollback) => {
  const present = write.revision - 1;
  if (revision > present) throw notFound(`there is no revision ${revision} yet; the present one is ${present}`);
  const documents = await listDocumentsAt(write.client, write.workspaceId, revision);
  // What was taken then need not be taken today.
  refuseIfAny(checkDocuments(documents));
  const applied = await applyDocuments(write, { layers, documents }, dryRun);
  return { ...applied, detail: { to: revision } };
});

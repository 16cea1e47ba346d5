// Exports all policy documents of the organisation at one revision, in the form that `apply` accepts.
import { policySetOf } from '../../domain/policies/policy-set.ts';
import { unauthenticated } from '../../domain/refusal.ts';
import { listDocuments } from '../../store/policies.ts';
import { inTransaction } from '../../store/transaction.ts';
import { findWorkspace } from '../../store/workspaces.ts';
import { readOperation } from '../operation.ts';

export const exportPolicies = readOperation('policy.export', ({ pool }, { workspaceId }) =>
  inTransaction(
    pool,
    async (client) => {
      const workspace = await findWorkspace(client, workspaceId);
      if (workspace === null) throw unauthenticated('the workspace of this key is gone');
      return { ...policySetOf(await listDocuments(client, workspaceId)), revision: workspace.revision };
    },
    'read',
  ),
);

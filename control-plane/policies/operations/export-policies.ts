// Exports all policy documents of the organisation at one revision, in the form that `apply` accepts.
import { policySetOf } from '@tollgate/sidecar/engine/compile';
import { unauthenticated } from '../../base/refusal.ts';
import { listDocuments } from '../store/policies.ts';
import { inTransaction } from '../../database/transaction.ts';
import { findWorkspace } from '../../workspaces/store/workspaces.ts';
import { readOperation } from '../../access/operation.ts';

export const exportPolicies = readOperation('policy.export', ({ pool }, { workspaceId }) =>
  inTransaction(
    pool,
    async (client) => {
      const workspace = await findWorkspace(client, workspaceId);
      if (workspace === null) throw unauthenticated('the workspace of this key no longer exists');
      return { ...policySetOf(await listDocuments(client, workspaceId)), revision: workspace.revision };
    },
    'read',
  ),
);

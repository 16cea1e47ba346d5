// Lists all workspaces. This is for the operator, who is not a member of any workspace.
import { listWorkspaces as listStored, type Workspace } from '../store/workspaces.ts';
import type { OperationDeps } from '../../access/operation.ts';

export const listWorkspaces = ({ pool }: Pick<OperationDeps, 'pool'>): Promise<readonly Workspace[]> => listStored(pool);

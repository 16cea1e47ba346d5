// For the operator, who is not a member of any workspace.
import { listWorkspaces as listStored, type Workspace } from '../store/workspaces.ts';
import type { Deps } from '../../access/operation.ts';

export const listWorkspaces = ({ pool }: Pick<Deps, 'pool'>): Promise<readonly Workspace[]> => listStored(pool);

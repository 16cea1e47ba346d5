// For the operator, who is no member of any.
import { listWorkspaces as listStored, type Workspace } from '../../store/workspaces.ts';
import type { Deps } from '../operation.ts';

export const listWorkspaces = ({ pool }: Pick<Deps, 'pool'>): Promise<readonly Workspace[]> => listStored(pool);

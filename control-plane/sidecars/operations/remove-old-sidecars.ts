// Periodic job of every control plane: deletes sidecars that left long ago. Safe when two processes run it at the same
// time.
import { sidecarBounds } from '../rules/sidecar.ts';
import { deleteSidecarsUnseen } from '../store.ts';
import type { OperationDeps } from '../../access/operation.ts';

export const removeOldSidecars = ({ pool }: Pick<OperationDeps, 'pool'>): Promise<void> =>
  deleteSidecarsUnseen(pool, sidecarBounds.leftDays);

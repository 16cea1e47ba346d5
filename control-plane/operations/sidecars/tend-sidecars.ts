// A chore of every control plane: sidecars that have long left are forgotten. Safe to run twice at once.
import { sidecarBounds } from '../../domain/sidecars/sidecar.ts';
import { deleteSidecarsUnseen } from '../../store/sidecars.ts';
import type { Deps } from '../operation.ts';

export const tendSidecars = ({ pool }: Pick<Deps, 'pool'>): Promise<void> => deleteSidecarsUnseen(pool, sidecarBounds.leftDays);

import { listSidecars as listStored } from '../../store/sidecars.ts';
import { readOperation } from '../operation.ts';

/** Those that are connected first, by name; among them those that have left lately. */
export const listSidecars = readOperation('sidecar.read', ({ pool }, actor) => listStored(pool, actor.workspaceId));

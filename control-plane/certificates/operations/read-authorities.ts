import { readOperation } from '../../access/operation.ts';

/**
 * Returns the authorities with which sidecars verify this control plane, as PEM. They are the same for every workspace.
 */
export const readAuthorities = readOperation('authority.read', ({ authorities }) => authorities());

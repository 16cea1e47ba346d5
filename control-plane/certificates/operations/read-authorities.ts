import { readOperation } from '../../access/operation.ts';

/** The authorities that sidecars use to verify this control plane, as PEM. They are the same for every workspace. */
export const readAuthorities = readOperation('authority.read', ({ authorities }) => authorities());

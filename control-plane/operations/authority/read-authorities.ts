import { readOperation } from '../operation.ts';

/** The authorities by which sidecars check this control plane, as PEM; the same for every workspace. */
export const readAuthorities = readOperation('authority.read', ({ authorities }) => authorities());

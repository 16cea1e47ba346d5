import { readOperation } from '../../access/operation.ts';

/** Returns the catalogue with current prices. It is the same for every workspace. */
export const listModels = readOperation('agent.read', async ({ catalogue, clock }) => catalogue.list(clock()));

import { readOperation } from '../operation.ts';

/** The catalogue with the prices of this moment; the same for every workspace. */
export const listModels = readOperation('agent.read', async ({ catalogue, clock }) => catalogue.list(clock()));

import { listModels as listCatalogue } from '../domain/models.ts';
import { readOperation } from './operation.ts';

/** The catalogue with the prices of this moment; the same for every workspace. */
export const listModels = readOperation('agent.read', async ({ clock }) => listCatalogue(clock()));

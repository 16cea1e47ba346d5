import { listModels as listCatalogue } from '../../domain/agents/models.ts';
import { readOperation } from '../operation.ts';

/** The catalogue with the prices of this moment; the same for every workspace. */
export const listModels = readOperation('agent.read', async ({ clock }) => listCatalogue(clock()));

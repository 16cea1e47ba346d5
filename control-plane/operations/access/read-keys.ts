import type { ApiKey } from '../../domain/access/key.ts';
import { listKeys as listStored } from '../../store/keys.ts';
import { readOperation } from '../operation.ts';

/** Newest first, revoked ones among them; never the keys themselves. */
export const listKeys = readOperation('key.read', ({ pool }, actor): Promise<readonly ApiKey[]> => listStored(pool, actor.workspaceId));

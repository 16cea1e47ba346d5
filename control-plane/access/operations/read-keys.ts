import type { ApiKey } from '../rules/key.ts';
import { listKeys as listStored } from '../store/keys.ts';
import { readOperation } from '../operation.ts';

/** Lists the keys, newest first, including revoked keys. The key texts are never included. */
export const listKeys = readOperation('key.read', ({ pool }, actor): Promise<readonly ApiKey[]> => listStored(pool, actor.workspaceId));

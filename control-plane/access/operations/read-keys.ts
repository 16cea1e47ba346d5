import { oneMore, pageOf, type PageWanted } from '../../base/page.ts';
import { type ApiKey, keyCursorOf, type KeyPosition } from '../rules/key.ts';
import { listKeys as listStored } from '../store/keys.ts';
import { readOperation } from '../operation.ts';

interface KeyPage {
  readonly keys: readonly ApiKey[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Lists the keys, newest first, including revoked keys. The key texts are never included. */
export const listKeys = readOperation('key.read', async ({ pool }, actor, { limit, after }: PageWanted<KeyPosition>): Promise<KeyPage> => {
  const found = await listStored(pool, actor.workspaceId, { limit: oneMore(limit), after });
  const { items, ...rest } = pageOf(found, limit, keyCursorOf);
  return { keys: items, ...rest };
});

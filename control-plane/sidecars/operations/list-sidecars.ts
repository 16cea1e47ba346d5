import { sidecarCursorOf, type SidecarPosition } from '../rules/sidecar.ts';
import { listSidecars as listStored, type SidecarList } from '../store.ts';
import { readOperation } from '../../access/operation.ts';

interface SidecarQuery {
  readonly limit: number;
  /** The parsed `next` of the previous page; null: the first page. */
  readonly after: SidecarPosition | null;
}

interface SidecarPage extends SidecarList {
  /** Absent on the last page. */
  readonly next?: string;
}

/** Lists connected sidecars first, by name, and then the sidecars that have left recently. */
export const listSidecars = readOperation('sidecar.read', async ({ pool }, actor, { limit, after }: SidecarQuery): Promise<SidecarPage> => {
  const found = await listStored(pool, actor.workspaceId, { limit: limit + 1, after });
  const sidecars = found.sidecars.slice(0, limit);
  const last = sidecars.at(-1);
  return { ...found, sidecars, ...(last !== undefined && found.sidecars.length > limit ? { next: sidecarCursorOf(last) } : {}) };
});

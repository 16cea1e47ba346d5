// Periodic job of every control plane: limits the number of counters of runs that one API key has created, so that a
// key that creates very many counters takes no space from other keys. Counters of limits are not included, because
// their number is bounded by the number of limits and subjects. Safe when two processes run it at the same time.
import { totalSpareMs } from '../rules/ledger.ts';
import { deleteUnusedCounters, type KeyPlace, listCrowdedKeys } from '../store.ts';
import type { OperationDeps } from '../../access/operation.ts';

/** The API keys that had their maximum number of counters of runs at the last check. */
export interface CrowdedKeys {
  has(place: KeyPlace): boolean;
  replace(places: readonly KeyPlace[]): void;
}

/** The maximum number of counters of runs for one key. Each counter uses about 300 bytes. */
const countersMax = 1_000_000;
/** The maximum number of rows in one statement, so that no statement takes long. */
const atOnce = 5_000;

export function createCrowdedKeys(): CrowdedKeys {
  let crowded = new Set<string>();
  const nameOf = ({ workspaceId, keyId }: KeyPlace): string => `${workspaceId} ${keyId}`;
  return {
    has: (place) => crowded.has(nameOf(place)),
    replace: (places) => {
      crowded = new Set(places.map(nameOf));
    },
  };
}

/**
 * Deletes counters that were not used for an hour, if their key has too many counters. A key that still has too many
 * cannot create new ones until some are deleted.
 */
export async function removeExcessCounters(
  { pool, crowded }: Pick<OperationDeps, 'pool'> & { readonly crowded: CrowdedKeys },
  max = countersMax,
): Promise<void> {
  const still: KeyPlace[] = [];
  for (const { counters, ...place } of await listCrowdedKeys(pool, max)) {
    let left = counters;
    // Deletes until the key has a tenth less than the maximum, so that it does not reach the maximum again immediately.
    const enough = Math.floor(max * 0.9);
    while (left > enough) {
      const gone = await deleteUnusedCounters(pool, place, { limit: Math.min(atOnce, left - enough), spareMs: totalSpareMs });
      left -= gone;
      if (gone === 0) break;
    }
    if (left >= max) still.push(place);
  }
  crowded.replace(still);
}

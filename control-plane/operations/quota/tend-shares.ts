// A chore of every control plane: the counters of runs that one key asked for are at most so many, so that a flood of one takes room from
// no other. Those of limits are in no share: there are as many as there are limits and subjects. Safe to run twice at once.
import { totalSpareMs } from '../../domain/quota/ledger.ts';
import { deleteUnusedCounters, type KeyPlace, listCrowdedKeys } from '../../store/quota.ts';
import type { Deps } from '../operation.ts';

/** Which keys have all the counters that they may have, as the last look saw it. */
export interface CrowdedKeys {
  has(place: KeyPlace): boolean;
  replace(places: readonly KeyPlace[]): void;
}

/** Some 300 bytes each. */
const countersMax = 1_000_000;
/** In one statement, so that none is long. */
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

/** What has not been touched for an hour goes first; a key that has too many all the same begins none until some are gone. */
export async function tendShares(
  { pool, crowded }: Pick<Deps, 'pool'> & { readonly crowded: CrowdedKeys },
  max = countersMax,
): Promise<void> {
  const still: KeyPlace[] = [];
  for (const { counters, ...place } of await listCrowdedKeys(pool, max)) {
    let left = counters;
    // A tenth more than must go, so that it is not full again at once.
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

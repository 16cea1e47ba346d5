// Finds the entries of one call among all entries of a request id. Normally there are two: of the decision before the
// tool, and of the output after it.
import type { AuditPosition } from './audit-query.ts';

interface Place {
  readonly position: AuditPosition;
  readonly hookEvent: string;
  readonly tool: string;
}

export interface CallPlaces<P extends Place> {
  readonly before: P | null;
  readonly after: P | null;
  /** How many entries of the request id belong to other calls. */
  readonly more: number;
}

/**
 * `places`: sorted, oldest first. `at`: the time of an entry of the wanted call; null: the newest call. If no entry has
 * this time, the nearest earlier call is taken.
 */
export function callAmong<P extends Place>(places: readonly P[], at: Date | null): CallPlaces<P> {
  const decisions = places.filter(({ hookEvent }) => hookEvent !== 'PostToolUse');
  const outputs = places.filter(({ hookEvent }) => hookEvent === 'PostToolUse');
  const isUpTo = ({ position }: Place): boolean => at === null || position.ts <= at;
  const before = decisions.findLast(isUpTo) ?? decisions[0] ?? null;
  const after =
    before === null
      ? (outputs.findLast(isUpTo) ?? outputs[0] ?? null)
      : (outputs.find(({ tool, position }) => tool === before.tool && position.ts >= before.position.ts) ?? null);
  const taken = [before, after].filter((one) => one !== null).length;
  return { before, after, more: places.length - taken };
}

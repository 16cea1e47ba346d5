import { readOperation } from '../../access/operation.ts';
import { listGaps as listStored } from '../store/audit-gaps.ts';

interface GapQuery {
  readonly limit: number;
  /** Only gaps before this item of the log; null: the first page. */
  readonly before: number | null;
}

/** Lists the gaps of the log, newest first: the records of sidecars that never arrived. */
export const listGaps = readOperation('audit.read', async ({ readingPool }, actor, { limit, before }: GapQuery) => {
  const found = await listStored(readingPool, actor.workspaceId, limit + 1, before);
  const gaps = found.slice(0, limit);
  const last = gaps.at(-1);
  return { gaps, ...(last !== undefined && found.length > limit ? { next: String(last.n) } : {}) };
});

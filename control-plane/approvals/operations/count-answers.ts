// Counts for each user what became of their approvals since a time.
import type { OperationDeps } from '../../access/operation.ts';
import { type CountedSteps, countSteps } from '../store/listed.ts';

interface Question {
  readonly workspaceId: number;
  readonly since: Date;
  /** The only user to read; null: all users with an approval that changed since then. */
  readonly sub: string | null;
  readonly limit: number;
}

/** `isCut`: there are more than `limit` users. Rejects if the database does not answer within `timeoutMs`. */
export async function countAnswers(
  { readingPool }: Pick<OperationDeps, 'readingPool'>,
  { workspaceId, since, sub, limit }: Question,
  timeoutMs: number,
): Promise<{ readonly users: readonly CountedSteps[]; readonly isCut: boolean }> {
  const found = await countSteps(readingPool, workspaceId, { since, sub, limit: limit + 1 }, timeoutMs);
  return { users: found.slice(0, limit), isCut: found.length > limit };
}

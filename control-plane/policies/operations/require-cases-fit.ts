// Checks that a workspace does not get more cases than sidecars are built to hold. The count is exact, because a write
// holds the lock on its workspace.
import { caseCountProblem, countCases } from '@tollgate/sidecar/engine/compile';
import type { Write } from '../../access/operation.ts';
import { invalid } from '../../base/refusal.ts';
import type { DocumentChange } from '../rules/policy-diff.ts';
import { countStoredCases } from '../store/policies.ts';

/**
 * Throws a refusal if the documents of the workspace would have too many cases after the changes. It must be called
 * before the changes are written.
 */
export async function requireCasesFit(
  { client, workspaceId }: Pick<Write, 'client' | 'workspaceId'>,
  changes: readonly Pick<DocumentChange, 'before' | 'after'>[],
): Promise<void> {
  const written = countCases(changes.map(({ after }) => after));
  if (written.cases === 0) return;
  const replaced = countCases(changes.map(({ before }) => before));
  const stored = await countStoredCases(client, workspaceId);
  const problem = caseCountProblem({
    cases: stored.cases - replaced.cases + written.cases,
    bytes: stored.bytes - replaced.bytes + written.bytes,
  });
  if (problem !== null) throw invalid([{ path: 'workspace', message: problem }]);
}

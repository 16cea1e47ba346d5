// The history of writes to policy documents, newest first, including members' own parts.
import { documentKey } from '@tollgate/proto/contract';
import { actionOf } from '../rules/policy-diff.ts';
import { cursorOf, type HistoryParameters, parseHistoryQuery } from '../rules/policy-history.ts';
import { accepted } from '../../base/refusal.ts';
import { listHistory } from '../store/policy-history.ts';
import { readOperation } from '../../access/operation.ts';

/** `next` is absent on the last page. */
export const readPolicyHistory = readOperation('policy.history', async ({ pool }, actor, parameters: HistoryParameters) => {
  const { writes, more } = await listHistory(pool, actor.workspaceId, accepted(parseHistoryQuery(parameters)));
  const last = writes.at(-1);
  return {
    history: writes.map(({ revision, at, sub, id, before, after }) => ({
      revision,
      at: at.toISOString(),
      sub,
      document: documentKey(id),
      action: actionOf({ before, after }),
      before,
      after,
    })),
    count: writes.length,
    ...(last !== undefined && more ? { next: cursorOf(last) } : {}),
  };
});

// Freezes and unfreezes a workspace, for emergencies. Every call of a frozen workspace is denied before any rule is
// applied. The change reaches sidecars as fast as any other change of the policy.
import type { Action } from '../../access/rules/access.ts';
import { setFrozen } from '../store/workspaces.ts';
import { writeOperation } from '../../access/operation.ts';

const set = (action: Action, frozen: boolean) =>
  writeOperation(action, async ({ client, workspaceId, actor }) => {
    await setFrozen(client, workspaceId, frozen);
    return { result: {}, target: `workspace/${actor.slug}` };
  });

export const freezeWorkspace = set('workspace.freeze', true);
export const unfreezeWorkspace = set('workspace.unfreeze', false);

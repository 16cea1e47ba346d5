// Streams the state of the caller's workspace: at the start, and after each change of the workspace, by any control plane.
// It ends when the credential of the caller ends. Every caller may follow its own workspace.
import { AppError } from '@tollgate/proto/contract';
import { createBell } from '../../base/bell.ts';
import { unauthenticated } from '../../base/refusal.ts';
import { findWorkspace } from '../../workspaces/store/workspaces.ts';
import type { OperationDeps } from '../operation.ts';
import type { Actor } from '../rules/actor.ts';
import { stillStands } from './authenticate.ts';
import { recheckMs } from './standing.ts';

export type WorkspaceItem =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'workspace'; readonly frozen: boolean; readonly revision: number };

/** `atLeastMs`: the shortest time between two looks at the workspace, however often it changes. */
const standardPace = { keepAliveMs: 15_000, lookMs: recheckMs, atLeastMs: 100 };

export async function* followWorkspace(
  deps: Pick<OperationDeps, 'pool' | 'clock' | 'revisions'>,
  actor: Actor,
  signal: AbortSignal,
  pace = standardPace,
): AsyncGenerator<WorkspaceItem> {
  const bell = createBell();
  const quiet = createBell();
  const leave = deps.revisions.onRaised(actor.workspaceId, () => bell.ring());
  let told: string | null = null;
  let spokeAt = performance.now();
  try {
    while (!signal.aborted) {
      const { frozen, revision } = await look(deps, actor);
      const seen = `${frozen} ${revision}`;
      if (told !== seen) {
        told = seen;
        yield { kind: 'workspace', frozen, revision };
        spokeAt = performance.now();
      } else if (performance.now() - spokeAt >= pace.keepAliveMs) {
        yield { kind: 'note', text: 'alive' };
        spokeAt = performance.now();
      }
      await quiet.wait(pace.atLeastMs, signal);
      await bell.wait(pace.lookMs, signal);
    }
  } catch (reason) {
    if (!(reason instanceof AppError)) throw reason;
    yield { kind: 'note', text: `ended: ${reason.publicMessage}` };
  } finally {
    leave();
  }
}

async function look(deps: Pick<OperationDeps, 'pool' | 'clock'>, actor: Actor) {
  if ((await stillStands(deps, actor)) === null) throw unauthenticated(`the ${actor.credential.kind} was revoked or has expired`);
  const workspace = await findWorkspace(deps.pool, actor.workspaceId);
  if (workspace === null) throw unauthenticated('the workspace was removed');
  return workspace;
}

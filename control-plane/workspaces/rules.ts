// The state of a workspace at one revision, as the control plane reads it. `store/workspace-state.ts` reads it in one
// transaction.
import type { CompiledServer } from '@tollgate/proto/contract';
import type { PolicySource } from '@tollgate/sidecar/engine/compile';
import type { Agent } from '../agents/rules/agent.ts';

/** The input of the compiler, with what runs use of agents and servers. */
export interface WorkspaceState extends PolicySource {
  readonly agents: readonly Agent[];
  readonly servers: readonly WorkspaceServer[];
}

export interface WorkspaceServer extends CompiledServer {
  /**
   * A digest of the server's address and of what is sent to it. A caller that was given one definition must not be
   * connected to another.
   */
  readonly definition: string;
}

/** An entry that a revision may have changed, by its key in a snapshot. */
export interface TouchedEntry {
  readonly revision: number;
  readonly key: string;
}

/** The present state of a workspace, for a reader that holds an earlier revision, or none. */
export type WorkspaceRead =
  | {
      readonly kind: 'whole';
      readonly state: WorkspaceState;
      /** `touched` contains everything that was touched after this revision. */
      readonly touchedSince: number;
      /** In the order of revisions. */
      readonly touched: readonly TouchedEntry[];
    }
  /**
   * `state` lists only entries that were touched at that revision or later. A touched entry that is missing from it no
   * longer exists.
   */
  | { readonly kind: 'changes'; readonly state: WorkspaceState; readonly touched: readonly TouchedEntry[] };

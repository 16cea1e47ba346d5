// The state of a workspace at one revision, as the control plane reads it. `store/workspace-state.ts` reads it in one
// transaction.
import type { CompiledServer } from '@tollgate/proto/contract';
import type { PolicySource } from '@tollgate/sidecar/engine/compile';
import type { Agent } from '../agents/rules/agent.ts';

/** The input of the compiler. It also contains the data of agents and servers that runs need. */
export interface WorkspaceState extends PolicySource {
  readonly agents: readonly Agent[];
  readonly servers: readonly WorkspaceServer[];
}

export interface WorkspaceServer extends CompiledServer {
  /**
   * A digest of the server's address and of what is sent to it. A caller that received one definition must not be
   * connected to a server with another definition.
   */
  readonly definition: string;
}

/** An entry that a revision may have changed. `key`: the key of the entry in a snapshot. */
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
      /** Sorted by revision. */
      readonly touched: readonly TouchedEntry[];
    }
  /**
   * `state` lists only entries that were touched at the reader's revision or later. If a touched entry is missing from
   * `state`, it no longer exists.
   */
  | { readonly kind: 'changes'; readonly state: WorkspaceState; readonly touched: readonly TouchedEntry[] };

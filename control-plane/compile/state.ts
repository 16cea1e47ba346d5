// The state of a workspace at one revision, as input of the compiler. `store/workspace-state.ts` reads it in one
// transaction.
import type { CompiledServer, Permission, Role, Tier } from '@tollgate/proto/contract';
import type { Agent } from '../agents/rules/agent.ts';
import type { StoredDocument } from '../policies/rules/policy.ts';

export interface WorkspaceState {
  readonly workspace: string;
  /** The random id of the workspace: 32 hex digits. */
  readonly workspaceId: string;
  readonly epoch: string;
  readonly revision: number;
  readonly frozen: boolean;
  readonly documents: readonly StoredDocument[];
  readonly agents: readonly Agent[];
  readonly members: readonly { readonly uid: string; readonly email: string; readonly role: Role }[];
  /** All keys that are not revoked and whose member still exists. Expired keys can be included. */
  readonly keys: readonly WorkspaceKey[];
  readonly servers: readonly WorkspaceServer[];
}

export interface WorkspaceServer extends CompiledServer {
  /**
   * A digest of the server's address and of what is sent to it. A caller that was given one definition must not be
   * connected to another.
   */
  readonly definition: string;
}

export interface WorkspaceKey {
  readonly id: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly uid: string | null;
  /** The role of the member, or for a service key the role of the member who made it. */
  readonly role: Role;
  readonly expiresAt: Date | null;
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
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

/** The operator's settings for the whole control plane. */
export interface PolicyDefaults {
  readonly defaultPermission: Permission;
  readonly windowSeconds: number;
}

// What a workspace is at one revision, as the compiler takes it. `store/workspace-state.ts` reads it in one transaction.
import type { CompiledServer, Permission, Role, Tier } from '@tollgate/proto/contract';
import type { Agent } from '../domain/agents/agent.ts';
import type { StoredDocument } from '../domain/policies/policy.ts';

export interface WorkspaceState {
  readonly workspace: string;
  /** Its random id: 32 hex digits. */
  readonly workspaceId: string;
  readonly epoch: string;
  readonly revision: number;
  readonly frozen: boolean;
  readonly documents: readonly StoredDocument[];
  readonly agents: readonly Agent[];
  readonly members: readonly { readonly uid: string; readonly email: string; readonly role: Role }[];
  /** Every key that is not revoked and whose member is still one; expired ones may be among them. */
  readonly keys: readonly WorkspaceKey[];
  readonly servers: readonly WorkspaceServer[];
}

export interface WorkspaceServer extends CompiledServer {
  /** Where it is and what it is sent, as a digest: whoever was led to one must not go on to another. */
  readonly definition: string;
}

export interface WorkspaceKey {
  readonly id: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  readonly uid: string | null;
  /** That of the member, or for a service key of the member who made it. */
  readonly role: Role;
  readonly expiresAt: Date | null;
  readonly pins: { readonly tier: Tier | null; readonly agent: string | null; readonly client: string | null };
}

/** An entry that a revision may have changed, by its key in a snapshot. */
export interface Touched {
  readonly revision: number;
  readonly key: string;
}

/** What a workspace is now, to whoever holds an earlier revision of it, or nothing. */
export type WorkspaceRead =
  | {
      readonly kind: 'whole';
      readonly state: WorkspaceState;
      /** All that was touched after this revision… */
      readonly touchedSince: number;
      /** …in its order. */
      readonly touched: readonly Touched[];
    }
  /** `state` lists only what was touched at that revision or later: what is not in it is no more. */
  | { readonly kind: 'changes'; readonly state: WorkspaceState; readonly touched: readonly Touched[] };

/** What the operator sets for the whole control plane. */
export interface PolicyDefaults {
  readonly defaultPermission: Permission;
  readonly windowSeconds: number;
}

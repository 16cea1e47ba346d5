// The input of the compiler: what one workspace contains at one revision.
import type { CompiledAgent, CompiledKey, CompiledMember, CompiledServer, Permission } from '@tollgate/proto/contract';
import type { StoredDocument } from './policy-document.ts';

export interface PolicySource {
  readonly workspace: string;
  /** The random id of the workspace: 32 hex digits. */
  readonly workspaceId: string;
  readonly epoch: string;
  readonly revision: number;
  readonly frozen: boolean;
  readonly documents: readonly StoredDocument[];
  /** Their caps can be out of bounds. The compiler clamps them. */
  readonly agents: readonly CompiledAgent[];
  readonly members: readonly CompiledMember[];
  /** All keys that are not revoked and whose member still exists. Expired keys can be included. */
  readonly keys: readonly WorkspaceKey[];
  /** With all admitted definitions. The compiler keeps them only if the workspace pins definitions. */
  readonly servers: readonly CompiledServer[];
}

export interface WorkspaceKey extends Omit<CompiledKey, 'expiresAt'> {
  /** Null: never. */
  readonly expiresAt: Date | null;
}

/** The operator's settings for the whole control plane. */
export interface PolicyDefaults {
  readonly defaultPermission: Permission;
  /** Length of a rate limit's window, in seconds. */
  readonly windowSeconds: number;
}

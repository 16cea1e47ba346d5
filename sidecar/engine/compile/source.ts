// Defines the input of the compiler: what one workspace contains at one revision.
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
  /**
   * The servers with all their admitted definitions. The compiler keeps the definitions only if the workspace pins
   * them.
   */
  readonly servers: readonly CompiledServer[];
}

export interface WorkspaceKey extends Omit<CompiledKey, 'expiresAt'> {
  /** Null: the key never expires. */
  readonly expiresAt: Date | null;
}

/** The operator's settings for the whole control plane. */
export interface PolicyDefaults {
  readonly defaultPermission: Permission;
  /** Length of a rate limit's window, in seconds. */
  readonly windowSeconds: number;
}

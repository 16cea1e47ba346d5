// Defines a verified snapshot: every field is present and within its bounds. `snapshot/verify.ts` builds it from the
// wire format.
import type {
  CompiledAgent,
  CompiledDocument,
  CompiledKey,
  CompiledMember,
  CompiledServer,
  CompiledSettings,
} from '@tollgate/proto/contract';

export interface Contents {
  /** Null: the settings are not included. */
  readonly settings: CompiledSettings | null;
  readonly documents: readonly CompiledDocument[];
  readonly agents: readonly CompiledAgent[];
  readonly members: readonly CompiledMember[];
  readonly keys: readonly CompiledKey[];
  readonly servers: readonly CompiledServer[];
}

export interface Snapshot extends Contents {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  readonly settings: CompiledSettings;
}

/**
 * The changes from one snapshot to a later one of the same epoch. An item is new, replaces the one with the same name,
 * or is removed.
 */
export interface Changes extends Contents {
  readonly revision: number;
  /** The hash of the whole snapshot after the changes. */
  readonly hash: Buffer;
  /** The keys of removed entries. A key that does not exist changes nothing. */
  readonly removed: readonly string[];
}

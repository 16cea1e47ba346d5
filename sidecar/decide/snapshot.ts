// A snapshot after it was verified: every field is there and in bounds. `snapshot/verify.ts` makes it from the wire.
import type {
  CompiledAgent,
  CompiledDocument,
  CompiledKey,
  CompiledMember,
  CompiledServer,
  CompiledSettings,
} from '@tollgate/proto/contract';

export interface Contents {
  /** Null where nothing is said of them. */
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

/** What leads from one snapshot to a later one of the same epoch: new or in the place of one of the same name, or gone. */
export interface Changes extends Contents {
  readonly revision: number;
  /** Of the whole, after them. */
  readonly hash: Buffer;
  /** Entry keys; one that is not there changes nothing. */
  readonly removed: readonly string[];
}

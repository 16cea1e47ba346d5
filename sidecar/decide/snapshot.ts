// A snapshot after it was verified: every field is there and in bounds. `snapshot/verify.ts` makes it from the wire.
import type {
  CompiledAgent,
  CompiledDocument,
  CompiledKey,
  CompiledMember,
  CompiledServer,
  CompiledSettings,
} from '@tollgate/proto/contract';

export interface Snapshot {
  readonly epoch: string;
  readonly revision: number;
  readonly hash: Buffer;
  readonly settings: CompiledSettings;
  readonly documents: readonly CompiledDocument[];
  readonly agents: readonly CompiledAgent[];
  readonly members: readonly CompiledMember[];
  readonly keys: readonly CompiledKey[];
  readonly servers: readonly CompiledServer[];
}

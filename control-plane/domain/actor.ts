// Who is asking: what a key stands for at the moment it is shown.
import type { Role } from '@tollgate/proto/contract';
import type { KeyPins } from './key.ts';

export interface Actor {
  readonly workspaceId: number;
  readonly slug: string;
  readonly keyId: string;
  /** The uid of a personal key's member, `apikey:<key id>` for a service key. */
  readonly sub: string;
  /** Null for a service key. */
  readonly uid: string | null;
  /** The member behind the key: its own, or for a service key the one who made it. */
  readonly memberUid: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly pins: KeyPins;
  /** Null: never. */
  readonly expiresAt: Date | null;
}

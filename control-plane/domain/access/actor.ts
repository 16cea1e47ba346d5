// Who is asking: what a key, or a session's cookie, stands for at the moment it is shown.
import type { Role } from '@tollgate/proto/contract';
import type { KeyPins } from './key.ts';

/** What was shown. */
export interface Credential {
  readonly kind: 'key' | 'session';
  /** SHA-256 of the key or of the session's token: with another secret it is another credential. */
  readonly hash: string;
  /** When it ends by itself; null: never. */
  readonly expiresAt: Date | null;
}

export interface Actor {
  readonly workspaceId: number;
  readonly slug: string;
  /** The database's, when the actor was recognised. */
  readonly epoch: string;
  /** The workspace's, at the same time. */
  readonly revision: number;
  readonly credential: Credential;
  /** The key, also of a session that stands on one; `session:<session id>` where the session stands on a member. */
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
  /** Of the key, which bounds what it gives; null: never. A session that stands on a member gives without an end. */
  readonly expiresAt: Date | null;
}

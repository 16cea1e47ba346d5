// The actor of a request: the identity and permissions of a key, or of a session's cookie, at the time of the request.
import type { Role } from '@tollgate/proto/contract';
import type { KeyPins } from './key.ts';

/** The credential of the request. */
export interface Credential {
  readonly kind: 'key' | 'session';
  /** SHA-256 of the key or of the session's token. A new secret makes a new credential. */
  readonly hash: string;
  /** When it expires; null: never. */
  readonly expiresAt: Date | null;
}

export interface Actor {
  readonly workspaceId: number;
  readonly slug: string;
  /** The database's epoch at the time of the authentication. */
  readonly epoch: string;
  /** The workspace's revision at the time of the authentication. */
  readonly revision: number;
  readonly credential: Credential;
  /**
   * The id of the key; for a session that depends on a key, the id of that key. `session:<session id>` if the session
   * depends on a member.
   */
  readonly keyId: string;
  /** Whether this is a session of a member whom the issuer identified. */
  readonly onMember: boolean;
  /** The uid of a personal key's member; `apikey:<key id>` for a service key. */
  readonly sub: string;
  /** Null for a service key. */
  readonly uid: string | null;
  /** The member behind the key: its own member, or for a service key the member who made it. */
  readonly memberUid: string;
  readonly role: Role;
  readonly scopes: readonly string[];
  readonly pins: KeyPins;
  /**
   * The time when the key expires; null: never. The keys that this key issues cannot expire later. A session that
   * depends on a member has no such limit.
   */
  readonly expiresAt: Date | null;
}

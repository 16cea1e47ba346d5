// Checks whether a policy on disk may be used before the control plane has said that this policy is current. Pure.
import { hashKey } from '@tollgate/proto/contract';
import type { SnapshotMessage } from './verify.ts';

/**
 * Returns whether the snapshot contains this process's own key. A process receives the hashes of all valid keys,
 * including its own. A policy without that hash was sent to a process with another key. That key may belong to another
 * workspace that had the same slug before. `wallTime`: ms since 1970.
 */
export function holdsKey({ entries }: Pick<SnapshotMessage, 'entries'>, key: string, wallTime: number): boolean {
  const own = hashKey(key);
  return entries.some((entry) => {
    if (!entry.key.startsWith('key/')) return false;
    const { hash, expiresAt } = readKey(entry.value);
    return hash === own && (expiresAt === null || expiresAt > wallTime);
  });
}

interface KeyEntry {
  readonly hash: unknown;
  /** Ms since 1970. Null: the key does not expire. */
  readonly expiresAt: number | null;
}

/**
 * Reads the hash and the expiry of a key. An entry that cannot be read counts as no key. Verification reports the
 * reason.
 */
function readKey(value: Uint8Array): KeyEntry {
  try {
    const { hash, expiresAt } = Object(JSON.parse(Buffer.from(value).toString('utf8')));
    return { hash, expiresAt: typeof expiresAt === 'number' ? expiresAt : null };
  } catch {
    return { hash: null, expiresAt: null };
  }
}

// Whether policy on disk may be used before the control plane has said that it is current. Pure.
import { hashKey } from '@tollgate/proto/contract';
import type { SnapshotMessage } from './verify.ts';

/**
 * A process is sent the hashes of all keys that stand, its own among them. Policy without it was sent to another key: that of another
 * workspace, perhaps, which had the slug before. `wall`: ms since 1970.
 */
export function holdsKey({ entries }: Pick<SnapshotMessage, 'entries'>, key: string, wall: number): boolean {
  const own = hashKey(key);
  return entries.some((entry) => {
    if (!entry.key.startsWith('key/')) return false;
    const { hash, expiresAt } = readKey(entry.value);
    return hash === own && (expiresAt === null || expiresAt > wall);
  });
}

interface Read {
  readonly hash: unknown;
  /** Ms since 1970; null: never. */
  readonly expiresAt: number | null;
}

/** What cannot be read is none: verifying says why. */
function readKey(value: Uint8Array): Read {
  try {
    const { hash, expiresAt } = Object(JSON.parse(Buffer.from(value).toString('utf8')));
    return { hash, expiresAt: typeof expiresAt === 'number' ? expiresAt : null };
  } catch {
    return { hash: null, expiresAt: null };
  }
}

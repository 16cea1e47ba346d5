// Checks the workspace key of a request, in the same way for every endpoint of the process. The result is the identity
// behind the key, or the reason for a refusal. The key is looked up in the held snapshot, so a revoked key stops
// working as soon as a push arrives.
import { type CompiledKey, type DenyCode, hashKey, hasScope, parseKey } from '@tollgate/proto/contract';
import type { Index } from '../../engine/decide/build-index.ts';
import type { Identity } from '../../engine/decide/call.ts';

/** The reason why a request is not admitted. */
export interface EntranceRefusal {
  readonly status: 401 | 403 | 429 | 503;
  readonly code: DenyCode;
  readonly error: string;
  /** Milliseconds after which the same request may be admitted. */
  readonly retryAfterMs?: number;
}

export const noPolicy = {
  status: 503,
  code: 'snapshot_missing',
  error: 'no policy has been received yet',
} as const satisfies EntranceRefusal;

/** All problems that a key can have. */
export const badKeys = {
  missing: {
    status: 401,
    code: 'identity_unknown',
    error: 'a workspace key is required: Authorization: Bearer gsk_<workspace>_<random>',
  },
  unknown: { status: 401, code: 'key_revoked', error: 'the key is unknown, revoked or expired' },
  elsewhere: { status: 403, code: 'key_scope', error: 'the key belongs to another workspace than the one in the path' },
  unscoped: { status: 403, code: 'key_scope', error: 'the key lacks the scope "govern"' },
} as const satisfies Readonly<Record<string, EntranceRefusal>>;

/** Returns the key in a header, with or without `Bearer`. Null: the header has no key of that form. */
export function keyIn(header: string | undefined): { readonly text: string; readonly workspace: string } | null {
  const text = /^(?:Bearer +)?(gsk_\S+)$/i.exec(header ?? '')?.[1];
  const form = text === undefined ? null : parseKey(text);
  return text === undefined || form === null ? null : { text, workspace: form.workspace };
}

/** Returns whether a key that was admitted earlier would still be admitted. */
export function keyStands({ keysById }: Index, now: number, keyId: string): boolean {
  const key = keysById.get(keyId);
  return key !== undefined && (key.expiresAt === null || now < key.expiresAt) && hasScope(key.scopes, 'govern');
}

/** Returns the id of the valid key in a header. Null: the header has no valid key. */
export function callerOf(index: Index | null, now: number, header: string | undefined): string | null {
  const checked = index === null ? null : authenticate(index, now, header, undefined);
  return checked !== null && 'identity' in checked ? checked.identity.keyId : null;
}

interface FoundKey {
  readonly header: string | undefined;
  readonly key: CompiledKey;
  readonly workspace: string;
}

/**
 * The last key found in each snapshot. It is cached because a request is checked at least twice, and the next request
 * often has the same caller.
 */
const lastFound = new WeakMap<Index, FoundKey>();

function findKey(index: Index, header: string | undefined): FoundKey | EntranceRefusal {
  const last = lastFound.get(index);
  if (last !== undefined && last.header === header) return last;
  const shown = keyIn(header);
  if (shown === null) return badKeys.missing;
  const key = index.keysByHash.get(hashKey(shown.text));
  if (key === undefined) return badKeys.unknown;
  const found = { header, key, workspace: shown.workspace };
  lastFound.set(index, found);
  return found;
}

/** Returns the identity behind a key, or the 401 or 403 that describes the problem with the key. */
export function authenticate(
  index: Index,
  now: number,
  header: string | undefined,
  workspace: string | undefined,
): { readonly identity: Identity } | EntranceRefusal {
  const found = findKey(index, header);
  if ('status' in found) return found;
  const { key } = found;
  if (key.expiresAt !== null && now >= key.expiresAt) return badKeys.unknown;
  if (workspace !== undefined && workspace !== found.workspace) return badKeys.elsewhere;
  if (!hasScope(key.scopes, 'govern')) return badKeys.unscoped;
  return { identity: { sub: key.uid ?? `apikey:${key.id}`, keyId: key.id } };
}

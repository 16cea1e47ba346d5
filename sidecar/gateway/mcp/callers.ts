// The requests that are open, each until its client is gone or its key is no longer good: whoever may not come in any more does
// not go on hearing what was begun before.
import type { PolicyCell } from '../../snapshot/cell.ts';
import type { FastifyReply } from 'fastify';
import { badKeys, keyStands } from '../key.ts';
import { UpstreamDown } from './upstream.ts';
import { errorText, Refused, rpcErrors } from './wire/rpc.ts';

/** Until the request is done with. */
interface Watched {
  /** Aborted once the caller is gone, or is to go. */
  readonly signal: AbortSignal;
  forget(): void;
}

export interface Callers {
  watch(reply: FastifyReply, keyId: string): Watched;
}

interface Deps {
  readonly cell: Pick<PolicyCell, 'current' | 'onSwap'>;
  /** Ms since 1970. */
  readonly wall: () => number;
}

interface Key {
  readonly open: Set<AbortController>;
  /** Looks again when it expires; undefined: it does not. */
  timer: NodeJS.Timeout | undefined;
}

/** The longest that a timer waits. */
const waitMaxMs = 2_147_483_647;

export function createCallers({ cell, wall }: Deps): Callers {
  /** Those with which a request is open. */
  const keys = new Map<string, Key>();

  /** Bars all who came with a key that is no longer good, else looks again when it expires. */
  function look(keyId: string, key: Key): void {
    clearTimeout(key.timer);
    const index = cell.current;
    if (index === null || !keyStands(index, wall(), keyId)) return bar(key);
    const expiresAt = index.keysById.get(keyId)?.expiresAt ?? null;
    if (expiresAt !== null) key.timer = setTimeout(() => look(keyId, key), Math.min(expiresAt - wall(), waitMaxMs)).unref();
  }

  function add(keyId: string, gone: AbortController): Key {
    const known = keys.get(keyId);
    if (known !== undefined) {
      known.open.add(gone);
      return known;
    }
    const key: Key = { open: new Set([gone]), timer: undefined };
    keys.set(keyId, key);
    look(keyId, key);
    return key;
  }

  function remove(keyId: string, key: Key, gone: AbortController): void {
    if (!key.open.delete(gone) || key.open.size > 0) return;
    clearTimeout(key.timer);
    keys.delete(keyId);
  }

  cell.onSwap(() => {
    for (const [keyId, key] of keys) look(keyId, key);
  });
  return {
    watch: ({ raw }, keyId) => {
      const gone = new AbortController();
      const key = add(keyId, gone);
      // Also once all is said, so that nothing goes on behind a stream that we have ended.
      const leave = (): void => gone.abort(new UpstreamDown('the caller is gone'));
      raw.once('close', leave);
      return {
        signal: gone.signal,
        forget: () => {
          raw.off('close', leave);
          remove(keyId, key, gone);
        },
      };
    },
  };
}

function bar({ open }: Key): void {
  const { status, code, error } = badKeys.unknown;
  for (const gone of open) gone.abort(new Refused(status, errorText(null, rpcErrors.request, `${code}: ${error}`)));
}

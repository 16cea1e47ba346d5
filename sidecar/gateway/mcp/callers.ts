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

interface Open {
  readonly keyId: string;
  readonly gone: AbortController;
}

// Longer than a timer waits, a key is looked at with each snapshot only.
const waitMaxMs = 2_147_483_647;

export function createCallers({ cell, wall }: Deps): Callers {
  const all = new Set<Open>();
  const bar = ({ gone }: Open): void =>
    gone.abort(
      new Refused(badKeys.unknown.status, errorText(null, rpcErrors.request, `${badKeys.unknown.code}: ${badKeys.unknown.error}`)),
    );
  cell.onSwap((index) => {
    for (const open of all) if (!keyStands(index, wall(), open.keyId)) bar(open);
  });
  return {
    watch: ({ raw }, keyId) => {
      const open: Open = { keyId, gone: new AbortController() };
      all.add(open);
      const expiresAt = cell.current?.keysById.get(keyId)?.expiresAt ?? null;
      const left = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - wall();
      const timer = left > waitMaxMs ? undefined : setTimeout(() => bar(open), left).unref();
      // Also once all is said, so that nothing goes on behind a stream that we have ended.
      const leave = (): void => open.gone.abort(new UpstreamDown('the caller is gone'));
      raw.once('close', leave);
      return {
        signal: open.gone.signal,
        forget: () => {
          all.delete(open);
          clearTimeout(timer);
          raw.off('close', leave);
        },
      };
    },
  };
}

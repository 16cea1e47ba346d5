// Tracks the open requests of callers. A request is aborted when its client disconnects or its key is no longer valid.
// So a caller without a valid key receives no more data from open streams. The number of exchanges in progress with a
// tool server is limited, in total and for each key, so one key cannot use the whole capacity.
import type { PolicyCell } from '../../../engine/snapshot/cell.ts';
import type { FastifyReply } from 'fastify';
import { badKeys, keyStands } from '../../entrance/key.ts';
import { type ToolServer, UpstreamDown, upstreamBounds } from '../../../upstream/upstream.ts';
import type { Door } from '../door.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';

/** The tracking of one request. It lasts until the request has ended. */
interface WatchedRequest {
  /** Aborted when the caller has disconnected or loses its access. */
  readonly signal: AbortSignal;
  forget(): void;
}

export interface Callers {
  watch(reply: FastifyReply, keyId: string): WatchedRequest;
}

interface PolicyAndClock {
  readonly cell: Pick<PolicyCell, 'current' | 'onSwap'>;
  /** Returns the time by which keys expire, in ms since 1970. */
  readonly wallTime: () => number;
}

interface Key {
  readonly open: Set<AbortController>;
  /** Fires when the key expires. Undefined: the key does not expire. */
  timer: NodeJS.Timeout | undefined;
}

/** The longest delay that a timer of Node accepts, in ms. */
const waitMaxMs = 2_147_483_647;

export function createCallers({ cell, wallTime }: PolicyAndClock): Callers {
  /** Keys that have an open request. */
  const keys = new Map<string, Key>();

  /**
   * Aborts all requests of a key that is no longer valid. Otherwise schedules a check for the time when the key
   * expires.
   */
  function look(keyId: string, key: Key): void {
    clearTimeout(key.timer);
    const index = cell.current;
    if (index === null || !keyStands(index, wallTime(), keyId)) return bar(key);
    const expiresAt = index.keysById.get(keyId)?.expiresAt ?? null;
    if (expiresAt !== null) key.timer = setTimeout(() => look(keyId, key), Math.min(expiresAt - wallTime(), waitMaxMs)).unref();
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
      // `close` also fires after the whole answer was sent. So when the sidecar ends a stream, the work for it stops
      // too.
      const leave = (): void => gone.abort(new UpstreamDown('the caller has disconnected'));
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
  for (const gone of open) gone.abort(new RpcRefusal(status, errorText(null, rpcErrors.request, `${code}: ${error}`)));
}

type SendTo = Door['sendTo'];

/** The number of exchanges, by key id. */
type Counts = Map<string, number>;

/**
 * Limits the concurrent exchanges with one server, in total and for each key. Messages that are not requests have a
 * separate count, so calls in progress can be cancelled and ended at any load.
 */
export function boundExchanges(sendTo: SendTo): SendTo {
  const open = new WeakMap<ToolServer['reach'], Counts>();
  const said = new WeakMap<ToolServer['reach'], Counts>();
  return (server, keyId) => async (exchange) => {
    const kind = exchange.method === 'GET' || exchange.message?.kind === 'request' ? open : said;
    const counts = kind.get(server.reach) ?? new Map<string, number>();
    kind.set(server.reach, counts);
    const ofKey = counts.get(keyId) ?? 0;
    let all = 0;
    for (const count of counts.values()) all += count;
    if (ofKey >= upstreamBounds.exchangesOfKey || all >= upstreamBounds.exchanges)
      throw new RpcRefusal(
        503,
        errorText(null, rpcErrors.internal, 'too many requests are in progress at the tool server; try again later'),
      );
    counts.set(keyId, ofKey + 1);
    const done = (): void => {
      const left = (counts.get(keyId) ?? 1) - 1;
      if (left > 0) counts.set(keyId, left);
      else counts.delete(keyId);
    };
    try {
      const answer = await sendTo(server, keyId)(exchange);
      if (answer.body.kind === 'events') return { ...answer, body: { ...answer.body, events: counted(answer.body.events, done) } };
      done();
      return answer;
    } catch (error) {
      done();
      throw error;
    }
  };
}

/** Calls `done` when the events have ended or are no longer read. */
const counted = <T>(events: AsyncIterable<T>, done: () => void): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => new CountedEvents(events[Symbol.asyncIterator](), done),
});

/** A generator around a generator would add several promises to each event. */
class CountedEvents<T> implements AsyncIterator<T> {
  readonly #events: AsyncIterator<T>;
  readonly #done: () => void;
  #isDone = false;

  constructor(events: AsyncIterator<T>, done: () => void) {
    this.#events = events;
    this.#done = done;
  }

  async next(): Promise<IteratorResult<T>> {
    try {
      const result = await this.#events.next();
      if (result.done === true) this.#end();
      return result;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<T>> {
    try {
      await this.#events.return?.();
      return { done: true, value: undefined };
    } finally {
      this.#end();
    }
  }

  #end(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#done();
  }
}

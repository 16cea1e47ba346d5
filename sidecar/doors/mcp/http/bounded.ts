// Limits the exchanges in progress with a tool server, and reserves capacity for other keys.
import type { Door } from '../door.ts';
import { type ToolServer, upstreamBounds } from '../../../upstream/upstream.ts';
import { errorText, Refused, rpcErrors } from '../../../upstream/wire/rpc.ts';

/** By key. */
type Counts = Map<string, number>;

/**
 * Limits the concurrent exchanges with one server, in total and for each key. Messages that are not requests have a
 * separate count, so calls in progress can be cancelled and ended at any load.
 */
export function bounded(sendTo: Door['sendTo']): Door['sendTo'] {
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
      throw new Refused(503, errorText(null, rpcErrors.internal, 'too much is under way with the tool server; try again later'));
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

async function* counted<T>(events: AsyncIterable<T>, done: () => void): AsyncGenerator<T> {
  try {
    yield* events;
  } finally {
    done();
  }
}

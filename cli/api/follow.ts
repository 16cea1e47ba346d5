// Follows a stream of Server-Sent Events. States: connecting; following (stores the id of each event, to resume after it);
// waiting (after a loss of the connection, longer each time up to a maximum), then connecting again with the last id. A
// failure of the first connection is thrown. Later, only an error that a retry cannot correct is thrown. The signal ends
// the function without an error.
import type { Row } from './answer.ts';
import type { Client } from './client.ts';
import { Outage } from '../failure.ts';
import { eventsOf } from './streams.ts';
import type { World } from '../world.ts';

export interface Following {
  readonly path: string;
  /** The name of the events that are yielded. */
  readonly event: string;
  readonly filters: Row;
  /** The id of the last known event; null: only new events. */
  readonly from: string | null;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
  /**
   * Called after each connection, before its events: what happened while there was no connection may be in no event. An
   * Outage that it throws is a loss of the connection.
   */
  readonly onConnected?: () => Promise<void>;
}

const firstWaitMs = 250;
const waitMsMax = 15_000;
/**
 * The server sends something every 15 s. If no data arrives for three times as long, the connection is considered lost.
 */
const silenceMsMax = 45_000;

/** The JSON of an event, and the id with which to resume after it. */
export interface Followed {
  readonly data: string;
  readonly id: string | null;
}

export async function* followEvents(world: Pick<World, 'wait' | 'random'>, client: Client, following: Following): AsyncGenerator<Followed> {
  const { path, event: wanted, filters, signal, note } = following;
  let last = following.from;
  let waitMs = firstWaitMs;
  let connected = false;
  while (!signal.aborted) {
    try {
      const silence = new AbortController();
      const pieces = await client.stream('GET', path, {
        query: filters,
        headers: { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      connected = true;
      await following.onConnected?.();
      for await (const { event, id, data, comment } of eventsOf(heard(pieces, silence))) {
        // Notes have ids too. The id of a note is after the events that the filters exclude. If the client resumes
        // after a note, those events are not read again.
        last = id ?? last;
        // The greeting `listening` alone does not prove that the stream works. The wait is reset only after something
        // else arrives.
        if (comment !== 'listening') waitMs = firstWaitMs;
        if (comment?.startsWith('ended: ') === true) note(comment);
        if (event === wanted && data !== null) yield { data, id: last };
      }
      note('the stream ended; connecting again');
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Outage) || !connected) throw error;
      note(`${error.message}; connecting again`);
    }
    // The wait is random ("full jitter"). If many clients lose the same control plane, they do not all reconnect at the
    // same instant.
    await world.wait(world.random() * waitMs, signal);
    waitMs = Math.min(waitMs * 2, waitMsMax);
  }
}

/** Yields the pieces. Aborts `silence` if no data arrives for `silenceMsMax`. */
async function* heard(pieces: AsyncIterable<string>, silence: AbortController): AsyncGenerator<string> {
  const timer = setTimeout(() => silence.abort(), silenceMsMax);
  try {
    for await (const piece of pieces) {
      timer.refresh();
      yield piece;
    }
  } finally {
    clearTimeout(timer);
  }
}

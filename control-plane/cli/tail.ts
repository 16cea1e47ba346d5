// Follows the audit log. States: connecting; following, each entry moving the place to resume from; waiting, after a
// loss, ever longer up to a maximum, then connecting again with the last id. A refusal, or no connection the very first
// time, is a Failure; the signal ends it without one.
import type { Row } from './answer.ts';
import type { Client } from './client.ts';
import { Outage } from './failure.ts';
import { eventsOf } from './streams.ts';
import type { World } from './world.ts';

interface Following {
  readonly filters: Row;
  /** The id of the last entry that is known; null for only what comes. */
  readonly from: string | null;
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

const firstWaitMs = 250;
const waitMsMax = 15_000;
/** The server says something every 15 s; three times that in silence is a dead connection. */
const silenceMsMax = 45_000;

/** An entry's JSON, and the id that goes on right after it. */
export interface TailedEntry {
  readonly data: string;
  readonly id: string | null;
}

export async function* tailEntries(
  world: Pick<World, 'wait' | 'random'>,
  client: Client,
  following: Following,
): AsyncGenerator<TailedEntry> {
  const { filters, signal, note } = following;
  let last = following.from;
  let waitMs = firstWaitMs;
  let connected = false;
  while (!signal.aborted) {
    try {
      const silence = new AbortController();
      const pieces = await client.stream('GET', '/{workspace}/admin/audit/stream', {
        query: filters,
        headers: { accept: 'text/event-stream', ...(last === null ? {} : { 'last-event-id': last }) },
        signal: AbortSignal.any([signal, silence.signal]),
      });
      connected = true;
      for await (const { event, id, data, comment } of eventsOf(heard(pieces, silence))) {
        // Notes have ids too, past what the filters left out.
        last = id ?? last;
        // The greeting proves nothing yet.
        if (comment !== 'listening') waitMs = firstWaitMs;
        if (comment?.startsWith('ended: ') === true) note(comment);
        if (event === 'entry' && data !== null) yield { data, id: last };
      }
      note('the stream ended; connecting again');
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Outage) || !connected) throw error;
      note(`${error.message}; connecting again`);
    }
    // Full jitter, so that many who lost one control plane do not return at one instant.
    await world.wait(world.random() * waitMs, signal);
    waitMs = Math.min(waitMs * 2, waitMsMax);
  }
}

/** Aborts when nothing was heard for too long. */
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

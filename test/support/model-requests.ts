// Requests to models, and their results.
import type { ModelEvent, ModelRequest } from '../../control-plane/runs/model.ts';
import type { RetryTimer } from '../../control-plane/runs/models/retry.ts';

export const requestOf = (fields: Partial<ModelRequest> & Pick<ModelRequest, 'model'>): ModelRequest => ({
  system: 'You are terse.',
  messages: [{ role: 'user', text: 'hello' }],
  tools: [],
  maxOutputTokens: 1_000,
  signal: new AbortController().signal,
  ...fields,
});

export const weatherTool = {
  alias: 'geo__weather',
  description: 'the weather somewhere',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

export interface StreamedReply {
  readonly deltas: readonly string[];
  readonly reply: Extract<ModelEvent, { kind: 'reply' }>;
}

/** All events of a reply; throws the error of the stream, and where an event follows the reply's end. */
export async function hear(events: AsyncIterable<ModelEvent>): Promise<StreamedReply> {
  const all: ModelEvent[] = [];
  for await (const event of events) all.push(event);
  const reply = all.at(-1);
  if (reply?.kind !== 'reply') throw new Error('the last event is no reply');
  const deltas = all.slice(0, -1).map((event) => {
    if (event.kind !== 'text') throw new Error('there are two replies');
    return event.delta;
  });
  return { deltas, reply };
}

/** Tests do not wait: it records how long the code would have waited. */
export function createWaiting(random = 1): RetryTimer & { readonly waits: readonly number[] } {
  const waits: number[] = [];
  return {
    waits,
    wait: (ms, signal) => {
      signal.throwIfAborted();
      waits.push(ms);
      return Promise.resolve();
    },
    random: () => random,
    now: () => Date.parse('2026-06-25T12:00:00Z'),
  };
}

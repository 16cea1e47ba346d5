// Reads and writes server-sent events one at a time. The input comes in pieces of any size. The output always has one
// form. The parser reports `retry` as an event of its own, and does not report a block with only an id. Clients that
// use this parser read events in the same way.
import { createParser } from 'eventsource-parser';

export interface SseEvent {
  readonly id: string | null;
  /** `message` if the server gives no type. */
  readonly event: string;
  readonly data: string | null;
  readonly retry: number | null;
}

/** A comment. Servers send it to keep a silent connection open. */
export const keepAlive = ':\n\n';

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

interface SseReader {
  /** Returns the events that this piece completes, in order. Null represents a comment. */
  read(piece: Uint8Array): readonly (SseEvent | null)[];
}

/** Creates a reader. It throws `EventTooLarge`, and a `TypeError` if the bytes are not UTF-8. */
export function createSseReader(bytesMax: number): SseReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let afterReturn = false;
  let events: (SseEvent | null)[] = [];
  // The parser limits only the text that it keeps. `size` also limits an event whose lines the parser ignores. Comments
  // are not counted, because they may keep a stream open for days.
  let size = 0;
  const refuse = (): never => {
    throw new EventTooLarge(`an event is larger than ${bytesMax} bytes`);
  };
  const parser = createParser({
    maxBufferSize: bytesMax,
    onEvent: ({ id = null, event = 'message', data }) => {
      if (data.length + event.length + (id?.length ?? 0) > bytesMax) refuse();
      events.push({ id, event, data, retry: null });
      size = 0;
    },
    onComment: (comment) => {
      events.push(null);
      size = Math.max(0, size - comment.length - ': \n'.length);
    },
    onRetry: (ms) => {
      if (ms <= retryMsMax) events.push({ id: null, event: 'message', data: null, retry: ms });
    },
    // Fields that are unknown or invalid are ignored.
    onError: ({ type }) => {
      if (type === 'max-buffer-size-exceeded') refuse();
    },
  });
  return {
    read: (piece) => {
      events = [];
      const decoded = decoder.decode(piece, { stream: true });
      // If the last piece ended with a carriage return, a line feed at the beginning of this piece belongs to that
      // carriage return.
      const text = afterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
      if (decoded !== '') afterReturn = decoded.endsWith('\r');
      size += text.length;
      // Carriage returns are replaced: the parser would wait for the character after a carriage return, and it takes
      // quadratic time if a piece mixes line ends.
      parser.feed(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text);
      if (size > bytesMax) refuse();
      return events;
    },
  };
}

const retryMsMax = 999_999_999;

/** Returns the text of an event in the form that every reader accepts. */
export function eventText({ id, event, data, retry }: SseEvent): string {
  const lines = [
    ...(event === 'message' ? [] : [`event: ${event}`]),
    ...(id === null ? [] : [`id: ${id}`]),
    ...(retry === null ? [] : [`retry: ${retry}`]),
    ...(data === null ? [] : data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** Returns the text of an event of ours. The event has no id, so it cannot be resumed. */
export const messageEvent = (data: string): string => eventText({ id: null, event: 'message', data, retry: null });

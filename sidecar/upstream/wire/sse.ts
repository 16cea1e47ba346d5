// Reads and writes server-sent events one at a time. The input comes in pieces of any size. The output always has one
// form.
export interface SseEvent {
  readonly id: string | null;
  /** `message` if the server gives no type. */
  readonly event: string;
  readonly data: string | null;
  readonly retry: number | null;
}

/** A comment, with which servers keep a silent connection open. */
export const keepAlive = ':\n\n';

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

interface SseReader {
  /** The events that this piece completes, in order. Null represents a comment. */
  read(piece: Uint8Array): readonly (SseEvent | null)[];
}

/** Throws `EventTooLarge`, and a `TypeError` if the bytes are not UTF-8. */
export function createSseReader(bytesMax: number): SseReader {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Pieces of the incomplete line. They are joined once at its end, so a long line is not scanned repeatedly.
  let begun: string[] = [];
  let size = 0;
  let afterReturn = false;
  let fields = emptyFields();
  const grow = (by: number): void => {
    size += by;
    if (size > bytesMax) throw new EventTooLarge(`an event is larger than ${bytesMax} bytes`);
  };
  /** The event that this line completes. Null: a comment. Undefined: the event is incomplete. */
  const take = (line: string): SseEvent | null | undefined => {
    if (line.startsWith(':')) {
      size -= line.length;
      return null;
    }
    if (line !== '') {
      readField(fields, line);
      return undefined;
    }
    const event = isEmpty(fields) ? undefined : { ...fields, data: fields.data?.join('\n') ?? null };
    fields = emptyFields();
    size = 0;
    return event;
  };
  return {
    read: (piece) => {
      const events: (SseEvent | null)[] = [];
      const decoded = decoder.decode(piece, { stream: true });
      // A line feed here belongs to the carriage return that ended the last piece.
      const text = afterReturn && decoded.startsWith('\n') ? decoded.slice(1) : decoded;
      if (decoded !== '') afterReturn = decoded.endsWith('\r');
      let start = 0;
      for (const { index, 0: ending } of text.matchAll(lineEnding)) {
        grow(index - start);
        const event = take(begun.join('') + text.slice(start, index));
        if (event !== undefined) events.push(event);
        begun = [];
        start = index + ending.length;
      }
      grow(text.length - start);
      begun.push(text.slice(start));
      return events;
    },
  };
}

const lineEnding = /\r\n|\r|\n/g;

/** Writes an event in the form that every reader accepts. */
export function eventText({ id, event, data, retry }: SseEvent): string {
  const lines = [
    ...(event === 'message' ? [] : [`event: ${event}`]),
    ...(id === null ? [] : [`id: ${id}`]),
    ...(retry === null ? [] : [`retry: ${retry}`]),
    ...(data === null ? [] : data.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)),
  ];
  return `${lines.join('\n')}\n\n`;
}

/** An event of ours. It has no id, so it cannot be resumed. */
export const messageEvent = (data: string): string => eventText({ id: null, event: 'message', data, retry: null });

interface ReadFields {
  id: string | null;
  event: string;
  data: string[] | null;
  retry: number | null;
}

const emptyFields = (): ReadFields => ({ id: null, event: 'message', data: null, retry: null });
const isEmpty = ({ id, event, data, retry }: ReadFields): boolean => id === null && event === 'message' && data === null && retry === null;

function readField(fields: ReadFields, line: string): void {
  const colon = line.indexOf(':');
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
  if (name === 'data') (fields.data ??= []).push(value);
  else if (name === 'event') fields.event = value === '' ? 'message' : value;
  else if (name === 'id' && !value.includes('\0')) fields.id = value;
  else if (name === 'retry' && /^\d{1,9}$/.test(value)) fields.retry = Number(value);
}

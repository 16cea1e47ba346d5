// Remembers answers that reached a client as SSE events. The stream may break before the client reads an event, and the
// client may ask for it again. The same event then gets the same text, and the outcome is recorded only once. A
// different answer under the same event id gets no stored text.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

export interface AnsweredEvents {
  note(eventId: string, sent: string, settled: string): void;
  /**
   * Returns the text that the client received for this event. Null: the event was not answered, or it was evicted, or
   * `sent` differs from the server's earlier text.
   */
  again(eventId: string, sent: string): string | null;
}

interface AnsweredEvent {
  readonly digest: string;
  /** The text that the client received. Null: it was the server's text, unchanged. */
  readonly settled: string | null;
}

// In characters: the limit for the texts of all sessions together, and the overhead that is added for each entry.
const heldMax = 16 * 1_048_576;
const aroundEach = 512;

/**
 * Returns a function that creates the store of one session. Call it once for each session. All sessions share the
 * limit.
 */
export function createAnsweredEvents(): () => AnsweredEvents {
  const held = new LRUCache<string, AnsweredEvent>({
    maxSize: heldMax,
    sizeCalculation: ({ settled }, key) => aroundEach + key.length + (settled?.length ?? 0),
  });
  let sessions = 0;
  return () => {
    const session = (sessions += 1);
    const keyOf = (eventId: string): string => `${session} ${eventId}`;
    return {
      note: (eventId, sent, settled) => {
        held.set(keyOf(eventId), { digest: digestOf(sent), settled: settled === sent ? null : settled });
      },
      again: (eventId, sent) => {
        const answered = held.get(keyOf(eventId));
        return answered === undefined || answered.digest !== digestOf(sent) ? null : (answered.settled ?? sent);
      },
    };
  };
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64');

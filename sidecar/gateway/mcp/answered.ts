// Answers that reached a client as events which it may ask for again, since its stream may break before it has read them. The
// same event is answered with the same text, and recorded once; another answer under the id of one is not.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

export interface AnsweredEvents {
  note(eventId: string, sent: string, settled: string): void;
  /** Null: it was not answered, or that is forgotten, or it is not what was sent. */
  again(eventId: string, sent: string): string | null;
}

interface Answered {
  readonly digest: string;
  /** Null where it was handed on as it was sent. */
  readonly settled: string | null;
}

// Of all sessions: texts, in characters, and what remembering one takes besides.
const heldMax = 16 * 1_048_576;
const aroundEach = 512;

/** Each call of the result is for a session of its own. */
export function createAnsweredEvents(): () => AnsweredEvents {
  const held = new LRUCache<string, Answered>({
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

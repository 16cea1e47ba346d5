// Answers that a client may ask for again: so many characters of all sessions, the least recently used forgotten first.
import { expect, test } from 'vitest';
import { createAnsweredEvents } from '../../../../../sidecar/doors/mcp/session/answered-events.ts';

const mebi = 1_048_576;
const settledOf = (n: number): string => `${n}`.padEnd(mebi, 'x');

test('sixteen million characters of all sessions are held, and what is longer than that is not', () => {
  const answeredOf = createAnsweredEvents();
  const [first, second] = [answeredOf(), answeredOf()];
  for (let n = 0; n < 40; n += 1) (n % 2 === 0 ? first : second).note(`event-${n}`, `sent ${n}`, settledOf(n));
  const held = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? first : second).again(`event-${n}`, `sent ${n}`) !== null);
  expect(held.filter((isHeld) => isHeld)).toHaveLength(15);
  expect(held.lastIndexOf(false)).toBe(24);
  first.note('long', 'sent', 'x'.repeat(17 * mebi));
  expect(first.again('long', 'sent')).toBeNull();
  expect(second.again('event-39', 'sent 39')).toBe(settledOf(39));
  // Another session's event of the same id, and another answer under it, are not it.
  expect(first.again('event-39', 'sent 39')).toBeNull();
  expect(second.again('event-39', 'sent 40')).toBeNull();
});

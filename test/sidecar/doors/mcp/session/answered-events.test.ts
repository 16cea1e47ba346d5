// Answers that a client may request again: the characters of all sessions are bounded, and the least recently used are
// evicted first.
import { expect, test } from 'vitest';
import { createAnsweredEvents } from '../../../../../sidecar/doors/mcp/session/answered-events.ts';

const mebi = 1_048_576;
const settledOf = (n: number): string => `${n}`.padEnd(mebi, 'x');

test('sixteen million characters of all sessions are held, and a longer answer is not', () => {
  const answeredOf = createAnsweredEvents();
  const [first, second] = [answeredOf(), answeredOf()];
  for (let n = 0; n < 40; n += 1) (n % 2 === 0 ? first : second).note(`event-${n}`, `sent ${n}`, settledOf(n));
  const held = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? first : second).again(`event-${n}`, `sent ${n}`) !== null);
  expect(held.filter((isHeld) => isHeld)).toHaveLength(15);
  expect(held.lastIndexOf(false)).toBe(24);
  first.note('long', 'sent', 'x'.repeat(17 * mebi));
  expect(first.again('long', 'sent')).toBeNull();
  expect(second.again('event-39', 'sent 39')).toBe(settledOf(39));
  // Another session's event with the same id, or another answer under that id, does not match.
  expect(first.again('event-39', 'sent 39')).toBeNull();
  expect(second.again('event-39', 'sent 40')).toBeNull();
});

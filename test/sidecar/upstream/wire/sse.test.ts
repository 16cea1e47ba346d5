// Parses events, however their bytes are split.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSseReader, eventText, EventTooLarge, type SseEvent } from '../../../../sidecar/upstream/wire/sse.ts';

const all = (bytes: Uint8Array, cuts: readonly number[], max = 1_000_000): readonly (SseEvent | null)[] => {
  const reader = createSseReader(max);
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return places.slice(1).flatMap((end, at) => reader.read(bytes.subarray(places[at], end)));
};

const message = (data: string, fields: Partial<SseEvent> = {}): SseEvent => ({ id: null, event: 'message', data, retry: null, ...fields });

test('the same events are read, wherever the bytes are split and however lines end', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 8 }), fc.constantFrom('\n', '\r', '\r\n'), (cuts, end) => {
      const text = [
        'id: 1',
        'event: note',
        'retry: 5',
        'data: ä🙂',
        'data:second',
        '',
        ': alive',
        'data: x',
        '',
        'unknown: y',
        '',
        '',
      ].join(end);
      expect(all(Buffer.from(text), cuts)).toEqual([message('ä🙂\nsecond', { id: '1', event: 'note', retry: 5 }), null, message('x')]);
    }),
  );
});

test('an event is read as it was written, whatever its text holds', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(), { maxLength: 4 }), (data, cuts) => {
      const [read] = all(Buffer.from(eventText(message(data))), cuts);
      expect(read?.data).toBe(data.replaceAll(/\r\n|\r/g, '\n'));
    }),
  );
});

test('an event that does not end is read only up to a bound, in one line or in many', () => {
  for (const line of [Buffer.from('data: ' + 'x'.repeat(100_000)), Buffer.from('data: x\n'.repeat(20_000))]) {
    const reader = createSseReader(100_000);
    expect(() => {
      for (let at = 0; at < 10; at += 1) reader.read(line);
    }).toThrow(EventTooLarge);
  }
});

test('comments are not part of an event, however many keep a stream open', () => {
  const reader = createSseReader(1_000);
  for (let at = 0; at < 1_000; at += 1) expect(reader.read(Buffer.from(': alive\n'))).toEqual([null]);
});

test('comments without an end are read only up to a bound too', () => {
  const reader = createSseReader(1_000);
  expect(() => reader.read(Buffer.from(`:${'x'.repeat(2_000)}`))).toThrow(EventTooLarge);
});

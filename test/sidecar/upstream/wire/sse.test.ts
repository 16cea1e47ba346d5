// Parses events, however their bytes are split.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSseReader, eventText, EventTooLarge, type SseEvent } from '../../../../sidecar/upstream/wire/sse.ts';
import { workOn } from '../../../support/work-on.ts';

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
      expect(all(Buffer.from(text), cuts)).toEqual([
        { id: null, event: 'message', data: null, retry: 5 },
        message('ä🙂\nsecond', { id: '1', event: 'note' }),
        null,
        message('x'),
      ]);
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

test('an event of lines that are ignored is read only up to a bound too, and a later one starts from nothing', () => {
  const reader = createSseReader(1_000);
  for (let at = 0; at < 100; at += 1) expect(reader.read(Buffer.from('unknown: y\n\ndata: x\n\n'))).toEqual([message('x')]);
  expect(() => {
    for (let at = 0; at < 100; at += 1) reader.read(Buffer.from('unknown: y\n'));
  }).toThrow(EventTooLarge);
});

test('a whole event in one piece is refused above the bound', () => {
  expect(() => createSseReader(1_000).read(Buffer.from(`data: ${'x'.repeat(1_001)}\n\n`))).toThrow(EventTooLarge);
});

test('an event that ends with carriage returns is read at once', () => {
  expect(createSseReader(1_000).read(Buffer.from('data: x\r\r'))).toEqual([message('x')]);
});

test('the work to read lines of mixed ends is linear in their number', () => {
  const work = (lines: number): number => workOn(() => createSseReader(1_000_000).read(Buffer.from(`${':\n'.repeat(lines)}\r`)));
  expect(work(10_000)).toBeGreaterThan(10_000);
  expect(work(20_000)).toBeLessThan(work(10_000) * 2.1);
});

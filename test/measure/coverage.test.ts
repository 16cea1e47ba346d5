// Tests how the functions of an operation are counted from recorded coverage. `node test/measure` itself measures real
// programs.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { makeTree } from './support.ts';
import { growthMin, listPassed, operationCount, readRecording, type Recording } from './ways/coverage.ts';
import { createSourceOf } from './ways/sources.ts';

const rootUrl = 'file:///tree/';
const script = (url: string, counts: Readonly<Record<number, number>>) => ({
  url,
  functions: Object.entries(counts).map(([start, count]) => ({
    ranges: [{ startOffset: Number(start), endOffset: Number(start) + 5, count }],
  })),
});
const record = (counts: Readonly<Record<number, number>>): Recording => readRecording([script(`${rootUrl}one/a.js`, counts)], rootUrl);
const startsOf = (passed: Recording): readonly number[] => [...passed.values()].map(({ start }) => start);

test('of a recording, only functions of the tree itself are kept', () => {
  const recording = readRecording(
    [script('node:fs', { 1: 1 }), script(`${rootUrl}node_modules/p/i.js`, { 1: 1 }), script(`${rootUrl}one/a.js`, { 7: 3 })],
    rootUrl,
  );
  expect([...recording.values()]).toEqual([{ script: `${rootUrl}one/a.js`, start: 7, calls: 3 }]);
});

test('an operation includes what runs for nearly each call, whatever also runs in the background', () => {
  const intervals = Array.from({ length: operationCount }, (_, at) => at);
  // 10: once each; 20: in addition to a timer; 30: a timer alone; 40: one burst; 50: two operations came late; 60: too
  // many did.
  const busy = intervals.map((at) =>
    record({ 10: 1, 20: 6, 30: 5, 40: at === 0 ? 100 : 0, 50: at < 2 ? 0 : 1, 60: at <= operationCount - growthMin ? 0 : 1 }),
  );
  const idle = intervals.map(() => record({ 20: 5, 30: 5 }));
  expect(startsOf(listPassed(busy, idle))).toEqual([10, 20, 50]);
});

test('a function of a bundle belongs to the source that its map names, another to its own file', () => {
  const { root } = makeTree({ 'one/a.ts': '', 'one/b.ts': '' });
  const built = 'const a = 1;\nfunction b() {}\n//# sourceMappingURL=built.js.map\n';
  writeFileSync(join(root, 'one/built.js'), built);
  // Line 1 is of a.ts, line 2 of b.ts.
  writeFileSync(
    join(root, 'one/built.js.map'),
    JSON.stringify({ version: 3, sources: ['a.ts', 'b.ts'], names: [], mappings: 'AAAA;ACAA' }),
  );
  writeFileSync(join(root, 'one/plain.js'), 'function c() {}\n');
  const sourceOf = createSourceOf(root);
  const urlOf = (path: string): string => pathToFileURL(join(root, path)).href;
  expect(sourceOf(urlOf('one/built.js'), 0)).toBe('one/a.ts');
  expect(sourceOf(urlOf('one/built.js'), built.indexOf('function'))).toBe('one/b.ts');
  expect(sourceOf(urlOf('one/plain.js'), 0)).toBe('one/plain.js');
});

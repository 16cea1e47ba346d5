// Conditions are read in short turns before a write needs them.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAhead } from '../../control-plane/policies/operations/read-ahead.ts';
import { readingConditions } from '../../sidecar/engine/compile/document-cases.ts';

const withConditions = (count: number, when: (n: number) => string): object => ({
  tools: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [`t.${n}`, { api: { cases: [{ name: 'a', when: when(n), permission: 'deny' }] } }]),
  ),
});

test('other work is done while many conditions are read', async () => {
  const long = Array.from({ length: 40 }, (_, n) => `args.field${n} == "a"`).join(' || ');
  const read = { done: false };
  const reading = readAhead([withConditions(200, (n) => `${long} || args.n == ${n}`)]).then(() => {
    read.done = true;
  });
  let turns = 0;
  while (!read.done) {
    await setImmediate();
    turns += 1;
  }
  await reading;
  expect(turns).toBeGreaterThan(5);
});

test('no more is read than a check of the document would read', () => {
  expect([...readingConditions([withConditions(50, (n) => `unknown${n}`)])]).toHaveLength(19);
  expect([...readingConditions([withConditions(2_001, (n) => `args.a == ${n}`)])]).toHaveLength(0);
  expect([...readingConditions([null, 7, withConditions(3, (n) => `args.a == ${n}`)])]).toHaveLength(3);
});

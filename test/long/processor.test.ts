// Measures the time of CPU-bound work. That it is bounded by its steps is tested elsewhere:
// test/control-plane/words.test.ts, test/runs/arguments.test.ts, and of test/sidecar limits/window, gateway/strict-json
// and snapshot/delta.
import { expect, test } from 'vitest';
import { placeOfError } from '../../control-plane/http/json-place.ts';
import { createArgumentsProblem } from '../../control-plane/runs/tools/arguments.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import { parseStrictText } from '../../sidecar/engine/json/strict-json.ts';
import { Window } from '../../sidecar/engine/limits/window.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import { endless, objectSchema } from '../runs/endless-schemas.ts';
import { longTokens } from '../sidecar/doors/long-tokens.ts';
import { createOneRuleOfMany } from '../sidecar/engine/snapshot/one-rule-of-many.ts';
import { cpuMsOf, median } from './timed.ts';

test('the place of an error in half a megabyte of nesting is found within a second', () => {
  const text = `${'{"a":['.repeat(80_000)}"`;
  expect(cpuMsOf(() => placeOfError(text))).toBeLessThan(1_000);
});

test('a mebibyte of digits, zeros or backslashes is read within two seconds', () => {
  for (const [, make] of longTokens) expect(cpuMsOf(() => parseStrictText(make(1_000_000)))).toBeLessThan(700);
});

test('a full window of a day answers within two milliseconds', () => {
  const window = new Window(86_400);
  window.add(200_000);
  const ask = (times: number): number =>
    cpuMsOf(() => {
      for (let at = 0; at < times; at += 1) window.waitFor(1, 200_060_000);
    }) / times;
  ask(20);
  // The best of several, since other processes run here too.
  expect(Math.min(...Array.from({ length: 10 }, () => ask(5)))).toBeLessThan(2);
});

test('one changed rule with 10,000 agents and 10,000 users costs a small part of a full compile', () => {
  const { first, next } = createOneRuleOfMany();
  const cell = createPolicyCell({ now: () => 1_000 }, 'acme');
  const wholeMs = cpuMsOf(() => cell.offer(first));
  const changesMs = Array.from({ length: 30 }, () => {
    const delta = next();
    return cpuMsOf(() => cell.change(delta));
  });
  expect(cell.current?.revision).toBe(31);
  expect(median(changesMs)).toBeLessThan(wholeMs / 20);
});

test.each(endless)('%s blocks the process for a moment, a few times, and not for each run', (_what, schema, value) => {
  const problemOf = createArgumentsProblem(createSchemaProblem());
  const ms = cpuMsOf(() => {
    // Each run has its own copy.
    for (let run = 0; run < 50; run += 1) problemOf({ ...schema }, { a: value });
  });
  expect(ms).toBeLessThan(1_500);
});

test('a schema with too many parts to compile is accepted within a tenth of a second', () => {
  const untimed = createSchemaProblem((_ms, work) => work());
  const all = Array.from({ length: 4_000 }, (_, at) => ({ properties: { [`f${at}`]: { type: 'integer' } } }));
  const schema = objectSchema({}, { allOf: all, unevaluatedProperties: false });
  expect(cpuMsOf(() => untimed(schema, { f0: 'x' }, 'it'))).toBeLessThan(100);
});

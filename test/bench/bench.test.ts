// Tests how the bench judges figures: whether other processes disturbed them, whether two runs agree, and which tree is
// slower.
import { expect, test } from 'vitest';
import { compareFigures, figuresIn } from './against.ts';
import { judge, judgeAmount, middleOf, orient } from './measure.ts';
import { othersBetween } from './side/others.ts';
import type { ProcessTable } from './side/processes.ts';
import { differencesOf } from './twice.ts';

const fields = { name: 'P2 decide', value: 1, unit: 'ns', baseline: 'itself' };

test('a ratio is judged by the bound of its target, and an amount by its share of it', () => {
  expect(judge('P2', { ...fields, ratio: 3 })).toMatchObject({ ok: true, target: 3, bound: 'at most' });
  expect(judge('P2', { ...fields, ratio: 3.01 }).ok).toBe(false);
  expect(judge('S3 calls', { ...fields, ratio: 0.64 })).toMatchObject({ ok: false, target: 0.65, bound: 'at least' });
  expect(judgeAmount('P11 sidecar', 37.5, fields)).toMatchObject({ ok: false, ratio: 1.5, target: 1 });
  expect(orient({ ...fields, ratio: 99 })).toMatchObject({ ok: true, target: null });
});

interface ProcessTimes {
  readonly parent?: number;
  readonly own: number;
  readonly ended?: number;
  readonly startedAt?: number;
}
const processTable = (rows: Readonly<Record<number, ProcessTimes>>): ProcessTable =>
  new Map(
    Object.entries(rows).map(([pid, { parent = 1, own, ended = 0, startedAt = 0 }]) => [
      Number(pid),
      { pid: Number(pid), parent, name: `p${pid}`, own, ended, startedAt },
    ]),
  );

test('CPU of other processes counts, but not CPU of this process tree or of kernel threads', () => {
  const before = processTable({ 50: { own: 5 }, 60: { parent: 50, own: 5 }, 2: { own: 1 }, 3: { parent: 2, own: 1 }, 70: { own: 4 } });
  const after = processTable({
    50: { own: 9 },
    60: { parent: 50, own: 9 },
    61: { parent: 60, own: 9 },
    2: { own: 2 },
    3: { parent: 2, own: 9 },
    70: { own: 5 },
  });
  expect(othersBetween(before, after, { own: 50, seconds: 10 })).toEqual({ cores: 0.1, names: 'p70 (70) 0.10' });
});

test('a process that reuses the id of an ended one counts from its own start', () => {
  const before = processTable({ 70: { own: 4, startedAt: 100 } });
  expect(othersBetween(before, processTable({ 70: { own: 2, startedAt: 200 } }), { own: 50, seconds: 10 }).cores).toBe(0.2);
});

test('for a child that ended during the window, only the CPU it used in the window counts', () => {
  const before = processTable({ 70: { own: 1, ended: 3 }, 71: { parent: 70, own: 100 } });
  const after = processTable({ 70: { own: 1, ended: 104 } });
  expect(othersBetween(before, after, { own: 50, seconds: 10 })).toEqual({ cores: 0.1, names: 'p70 (70) 0.10' });
});

test('two runs differ where a ratio differs by 10 % or more, or a row is in one run only', () => {
  const row = (name: string, ratio: number) => judge('P2', { ...fields, name, ratio });
  expect(differencesOf([row('a', 1), row('b', 2)], [row('a', 1.09), row('b', 1.83)])).toEqual([]);
  expect(differencesOf([row('a', 1)], [row('a', 1.1), row('b', 1)])).toEqual(['a: 1 and 1.1 (10 %)', 'b: only in the second run']);
  expect(differencesOf([orient({ ...fields, ratio: 1 })], [orient({ ...fields, ratio: 9 })])).toEqual([]);
  // Shares of all calls are compared by percentage points: 10 % of almost zero is almost zero.
  const share = (ratio: number) => judge('S8 admitted', { ...fields, unit: '% of calls with capacity admitted', ratio });
  expect(differencesOf([share(0.001)], [share(0.004)])).toEqual([]);
  expect(differencesOf([share(0.3)], [share(0.41)])).toHaveLength(1);
});

test('trees are compared by the median of the pairs, above 1 where this tree is slower, for every kind of unit', () => {
  const pair = (ms: number, perSecond: number) => [
    { name: 'time', unit: 'ms', value: ms },
    { name: 'rate', unit: '/s', value: perSecond },
  ];
  const compared = compareFigures([
    { here: pair(11, 100), there: pair(10, 200) },
    { here: pair(30, 100), there: pair(10, 200) },
    { here: pair(10, 100), there: pair(10, 200) },
  ]);
  expect(compared.map(({ name, ratio }) => [name, ratio])).toEqual([
    ['time', 1.1],
    ['rate', 2],
  ]);
});

test('a figure that a run lacks is not compared', () => {
  const both = [{ name: 'both', unit: 'B', value: 1 }];
  const here = [...both, { name: 'here', unit: 'B', value: 1 }];
  expect(compareFigures([{ here, there: both }]).map(({ name }) => name)).toEqual(['both']);
  expect(
    compareFigures([
      { here: both, there: both },
      { here: both, there: [] },
    ]),
  ).toEqual([]);
});

test('zero against zero is the same, and an amount against zero is slower without bounds', () => {
  const ratio = (unit: string, here: number, there: number) =>
    compareFigures([{ here: [{ name: 'a', unit, value: here }], there: [{ name: 'a', unit, value: there }] }])[0]?.ratio;
  expect(ratio('bytes', 0, 0)).toBe(1);
  expect(ratio('bytes', 40_960, 0)).toBe(Infinity);
  expect(ratio('bytes', 0, 40_960)).toBe(0);
  expect(ratio('MB above', -3, -1)).toBe(1);
  expect(ratio('/s', 0, 100)).toBe(Infinity);
});

test('figures are the lines of JSON with a value', () => {
  const text = '# 2 cores\n{"name":"a","value":1,"unit":"ms","target":2}\n{"name":"b","notMeasured":"wrk is not installed"}\nnoise\n';
  expect(figuresIn(text)).toEqual([{ name: 'a', value: 1, unit: 'ms', target: 2 }]);
  // A row for orientation is no figure to compare. The first version did not write its target.
  expect(figuresIn(JSON.stringify({ name: 'a', value: 1, unit: 'ms' }))).toEqual([]);
  expect(figuresIn(JSON.stringify({ name: 'a', value: 1, unit: 'ms', target: null }))).toEqual([]);
  const alone = JSON.stringify({ name: 'a', value: 1, unit: 'ms', target: null, baseline: 'measured alone' });
  expect(figuresIn(alone)).toMatchObject([{ name: 'a', value: 1 }]);
});

test('over several starts the report shows the median, the worst count of denied calls, and nothing where one start could not measure', () => {
  const run = (ratio: number, denied: number) => [
    judge('P2', { ...fields, value: ratio * 10, ratio }),
    judge('denied', { name: 'denied', unit: '% of calls', baseline: '', value: denied * 100, ratio: denied }),
  ];
  expect(middleOf([run(5, 0), run(1, 0.01), run(2, 0)])).toMatchObject([
    { ratio: 2, value: 20, ok: true },
    { ratio: 0.01, value: 1, ok: false },
  ]);
  const missing = { name: fields.name, notMeasured: 'gone' };
  expect(middleOf([run(1, 0), [missing]])).toMatchObject([missing, { notMeasured: 'one of its runs has no such row' }]);
});

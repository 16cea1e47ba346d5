// Which items are processed together, which alone, and in which order. There is no database: the test decides what is
// processed.
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type GroupRules, inGroups } from '../../control-plane/base/groups.ts';

const cases = Math.max(300, Math.floor(Number(process.env['TOLLGATE_TEST_CASES'] ?? 0) / 10));
const seed = process.env['TOLLGATE_TEST_SEED'];

interface Job {
  readonly key: string;
  readonly n: number;
  readonly kind: 'good' | 'bad' | 'away';
}

class Away extends Error {}
const groupMax = 3;
const atOnce = 2;

/** Groups that were begun; each continues when its `go` is called. */
function createWork(gather?: GroupRules<Job, number>['gather']) {
  const begun: { readonly jobs: readonly Job[]; readonly go: () => void }[] = [];
  let running = 0;
  let most = 0;
  const grouping: GroupRules<Job, number> = {
    ...(gather === undefined ? {} : { gather }),
    keyOf: ({ key }) => key,
    atOnce,
    openGroup: () => {
      let count = 0;
      return () => (count += 1) <= groupMax;
    },
    run: async (jobs) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((go) => begun.push({ jobs, go }));
      running -= 1;
      if (jobs.some(({ kind }) => kind === 'away')) throw new Away('away');
      for (const { n, kind } of jobs) if (kind === 'bad') throw new Error(`${n} is bad`);
      return jobs.map(({ n }) => n * 10);
    },
    failsAll: (reason) => reason instanceof Away,
  };
  return { begun, run: inGroups(grouping), most: () => most };
}

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));
const good = (n: number, key = 'a'): Job => ({ key, n, kind: 'good' });

test('an item without a predecessor begins immediately, alone; those that arrive meanwhile form the next group, as many as fit', async () => {
  const { begun, run } = createWork();
  const all = [1, 2, 3, 4, 5].map((n) => run(good(n)));
  expect(begun.map(({ jobs }) => jobs.map(({ n }) => n))).toEqual([[1]]);
  for (let at = 0; at < 3; at += 1) {
    begun[at]?.go();
    await settle();
  }
  expect(begun.map(({ jobs }) => jobs.map(({ n }) => n))).toEqual([[1], [2, 3, 4], [5]]);
  expect(await Promise.all(all)).toEqual([10, 20, 30, 40, 50]);
});

test('a key with many items waits for its turn after each group, as every other key', async () => {
  const { begun, run } = createWork();
  void Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => run(good(n, 'busy'))));
  void Promise.all(['b', 'c', 'd'].map((key) => run(good(1, key))));
  for (let at = 0; at < 6; at += 1) {
    begun[at]?.go();
    await settle();
  }
  expect(begun.map(({ jobs }) => jobs[0]?.key)).toEqual(['busy', 'b', 'c', 'd', 'busy', 'busy', 'busy']);
});

test('items that can wait form one group, which begins when the first has waited for the time, or when they cannot wait any longer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { begun, run } = createWork({ ms: 75, canWait: (jobs) => jobs.length < groupMax && jobs.every(({ n }) => n < 10) });
  const groups = () => begun.map(({ jobs }) => jobs.map(({ n }) => n));
  const go = async (): Promise<void> => {
    begun.at(-1)?.go();
    await settle();
  };
  void run(good(1));
  await vi.advanceTimersByTimeAsync(74);
  void run(good(2));
  expect(groups()).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(groups()).toEqual([[1, 2]]);
  // The time counts from the arrival, also of an item that arrived while a group was running.
  void run(good(3));
  await vi.advanceTimersByTimeAsync(70);
  await go();
  expect(groups()).toEqual([[1, 2]]);
  await vi.advanceTimersByTimeAsync(5);
  expect(groups()).toEqual([[1, 2], [3]]);
  await go();
  // One that cannot wait takes the others along.
  void run(good(4));
  void run(good(10));
  await settle();
  expect(groups().at(-1)).toEqual([4, 10]);
  await go();
  for (const n of [5, 6, 7]) void run(good(n));
  await settle();
  expect(groups().at(-1)).toEqual([5, 6, 7]);
  await go();
});

test('in any order of arrival each item has its own answer, in order, a bad one fails alone, and a group never exceeds its maximum', async () => {
  const job = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    kind: fc.constantFrom<Job['kind']>('good', 'good', 'good', 'good', 'bad', 'away'),
    /** The number of groups that end before it arrives. */
    after: fc.nat({ max: 2 }),
  });
  let together = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(job, { maxLength: 40 }), async (jobs) => {
      const { begun, run, most } = createWork();
      const ended: string[] = [];
      let at = 0;
      const proceed = async (): Promise<void> => {
        begun[at]?.go();
        if (at < begun.length) at += 1;
        await settle();
      };
      const answers: Promise<string>[] = [];
      for (const [n, { key, kind, after }] of jobs.entries()) {
        for (let step = 0; step < after; step += 1) await proceed();
        const name = `${key} ${n}`;
        answers.push(
          run({ key, kind, n })
            .then(String, (error: unknown) => (error instanceof Error ? error.message : ''))
            .finally(() => ended.push(name)),
        );
      }
      while (at < begun.length) await proceed();
      const said = await Promise.all(answers);
      expect(most()).toBeLessThanOrEqual(atOnce);
      for (const { jobs: group } of begun) {
        expect(group.length).toBeLessThanOrEqual(groupMax);
        expect(new Set(group.map(({ key }) => key)).size).toBe(1);
        if (group.length > 1) together += 1;
      }
      for (const [n, { kind }] of jobs.entries()) {
        const withAway = begun.some(({ jobs: group }) => group.some((one) => one.n === n) && group.some((one) => one.kind === 'away'));
        expect(said[n]).toBe(withAway ? 'away' : kind === 'bad' ? `${n} is bad` : String(n * 10));
      }
      for (const key of ['a', 'b', 'c']) {
        const order = ended.filter((name) => name.startsWith(key)).map((name) => Number(name.slice(2)));
        expect(order).toEqual(order.toSorted((one, other) => one - other));
      }
    }),
    { numRuns: cases, ...(seed === undefined ? {} : { seed: Number(seed) }) },
  );
  // At least some of them for every seed; about a tenth on average.
  expect(together).toBeGreaterThan(cases / 100);
});

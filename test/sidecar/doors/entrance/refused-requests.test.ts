// The count of requests that were refused before they were read: no refusal is lost, whatever fails meanwhile, and the
// number of held keys is bounded.
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  createRefusedRequests,
  type LostRefusals,
  type RefusedBy,
  type RefusedKey,
} from '../../../../sidecar/doors/entrance/refused-requests.ts';
import { AppError } from '@tollgate/proto/contract';
import { createTestSidecar, type TestSidecar } from '../../../support/governing.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function start(sidecar: TestSidecar, max?: number) {
  let lost = 0;
  const refused = createRefusedRequests(
    sidecar.govern.clock,
    ({ requests }) => {
      lost += requests;
    },
    max,
  );
  const index = sidecar.cell.current;
  if (index === null) throw new Error('no policy');
  const find = (keyId: string) => () => ({ governing: sidecar, index, identity: { sub: `apikey:${keyId}`, keyId } });
  const note = (keyId: string, by: RefusedBy = 'requests'): void => refused.note(keyId, by, find(keyId));
  return { refused, note, lost: () => lost };
}

/** Returns the counts in the entries, by key. */
async function counted(sidecar: TestSidecar): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = {};
  for (const { keyId, code, decisionReason } of await sidecar.entries()) {
    expect(code).toBe('request_limit');
    sums[keyId] = (sums[keyId] ?? 0) + Number(/^request_limit: (\d+) /.exec(decisionReason)?.[1]);
  }
  return sums;
}

test('a second after the first refusal there is one entry for each key, and another for later refusals', async () => {
  const sidecar = await createTestSidecar();
  const { refused, note } = start(sidecar);
  for (let n = 0; n < 1_000; n += 1) note('a');
  note('b', 'bytes');
  note('a', 'bytes');
  await vi.advanceTimersByTimeAsync(999);
  expect(await counted(sidecar)).toEqual({});
  await vi.advanceTimersByTimeAsync(1);
  const entries = await sidecar.entries();
  expect(entries.map(({ decisionReason }) => decisionReason)).toEqual([
    "request_limit: 1001 requests were refused unread in the last second: 1000 over the key's limit of requests a second, 1 while too many body bytes of the key were in progress",
    'request_limit: 1 request was refused unread in the last second: 1 while too many body bytes of the key were in progress',
  ]);
  note('a');
  await refused.close();
  expect(await counted(sidecar)).toEqual({ a: 1_002, b: 1 });
});

test('the sum of the entries is the number of refusals, however refusals, seconds and a full disk alternate', async () => {
  const sidecar = await createTestSidecar();
  const step = fc.oneof(
    fc.record({ refuse: fc.constantFrom('a', 'b', 'c'), times: fc.integer({ min: 1, max: 50 }) }),
    fc.constantFrom('second' as const, 'disk full' as const, 'disk free' as const),
  );
  const sums: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { refused, note, lost } = start(sidecar);
      for (const one of steps) {
        if (one === 'second') await vi.advanceTimersByTimeAsync(1_000);
        else if (typeof one === 'string') sidecar.spoolFault = one === 'disk full' ? 'full' : null;
        else {
          for (let n = 0; n < one.times; n += 1) note(one.refuse);
          sums[one.refuse] = (sums[one.refuse] ?? 0) + one.times;
        }
      }
      sidecar.spoolFault = null;
      await refused.close();
      expect(await counted(sidecar)).toEqual(sums);
      expect(lost()).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test('refusals that cannot be written at the end, or are of one key too many, are reported as lost', async () => {
  const sidecar = await createTestSidecar();
  const { refused, note, lost } = start(sidecar, 2);
  for (const keyId of ['a', 'b', 'c', 'c', 'a']) note(keyId);
  expect(lost()).toBe(2);
  sidecar.spoolFault = 'full';
  await refused.close();
  expect(lost()).toBe(5);
  expect(await counted(sidecar)).toEqual({});
});

/** Refusals of keys, each found in its own way, and those that are lost. */
function startWith(find: (keyId: string) => RefusedKey | Promise<RefusedKey>, clock = { now: () => 0 }) {
  const lost: LostRefusals[] = [];
  const refused = createRefusedRequests(clock, (refusals) => void lost.push(refusals));
  return { refused, lost, note: (keyId: string): void => refused.note(keyId, 'requests', () => find(keyId)) };
}

function foundIn(sidecar: TestSidecar, keyId: string): RefusedKey {
  return { governing: sidecar, identity: { sub: `apikey:${keyId}`, keyId } };
}

test('a key of a missing workspace, and a slow lookup, delay no other key; a refusal that can never be written is reported as lost at once', async () => {
  const sidecar = await createTestSidecar();
  let found: (key: RefusedKey) => void = () => undefined;
  const { note, lost, refused } = startWith((keyId) => {
    if (keyId === 'gone') return Promise.reject(new AppError({ code: 'unauthenticated', publicMessage: 'the workspace was removed' }));
    return keyId === 'slow' ? new Promise((done) => (found = done)) : foundIn(sidecar, keyId);
  });
  for (const keyId of ['gone', 'gone', 'slow', 'good']) note(keyId);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await counted(sidecar)).toEqual({ good: 1 });
  expect(lost).toEqual([{ keyId: 'gone', requests: 2, why: 'the workspace was removed' }]);
  note('slow');
  await vi.advanceTimersByTimeAsync(5_000);
  found(foundIn(sidecar, 'slow'));
  // The entry is written at the end of a turn of the event loop.
  expect(await counted(sidecar)).toEqual({ good: 1, slow: 1 });
  await vi.advanceTimersByTimeAsync(1_000);
  found(foundIn(sidecar, 'slow'));
  await refused.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await counted(sidecar)).toEqual({ good: 1, slow: 2 });
});

test('a write that may succeed later is retried at growing intervals, and given up after an hour', async () => {
  const sidecar = await createTestSidecar();
  let tries = 0;
  const { note, lost } = startWith(() => {
    tries += 1;
    return Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'no policy has been received yet' }));
  });
  note('a');
  const triedIn = async (seconds: number): Promise<number> => {
    const before = tries;
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    return tries - before;
  };
  expect([await triedIn(10), await triedIn(60), await triedIn(600)]).toEqual([4, 3, 10]);
  expect(lost).toEqual([]);
  await triedIn(3_600);
  expect([tries, lost]).toEqual([64, [{ keyId: 'a', requests: 1, why: 'no policy has been received yet' }]]);
  // The sidecar around it may have timers of its own; the write is not tried again.
  expect(await triedIn(7_200)).toBe(0);
  expect(await counted(sidecar)).toEqual({});
});

test('refusals are written also where entries must be on disk, or with the control plane', async () => {
  for (const durability of ['disk', 'remote'] as const) {
    const sidecar = await createTestSidecar({ durability });
    if (durability === 'remote') sidecar.spoolFault = 'unconfirmed';
    const { note, lost, refused } = startWith((keyId) => foundIn(sidecar, keyId));
    note('a');
    await refused.close();
    expect([await counted(sidecar), lost]).toEqual([{ a: 1 }, []]);
  }
});

test('an entry reports the period of the refusals, even if it could not be written for long, or its key was found late', async () => {
  const sidecar = await createTestSidecar();
  let found: (key: RefusedKey) => void = () => undefined;
  const { note, refused } = startWith(
    (keyId) => (keyId === 'slow' ? new Promise((done) => (found = done)) : foundIn(sidecar, keyId)),
    sidecar.govern.clock,
  );
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second += 1) {
      sidecar.time.now += 1_000;
      await vi.advanceTimersByTimeAsync(1_000);
    }
  };
  note('a');
  sidecar.spoolFault = 'full';
  await pass(3);
  note('a');
  sidecar.spoolFault = null;
  await pass(1);
  note('a');
  note('slow');
  await pass(1);
  found(foundIn(sidecar, 'slow'));
  await vi.advanceTimersByTimeAsync(0);
  await pass(1);
  note('slow');
  await pass(9);
  found(foundIn(sidecar, 'slow'));
  await vi.advanceTimersByTimeAsync(0);
  await refused.close();
  expect((await sidecar.entries()).map(({ keyId, decisionReason }) => `${keyId} ${decisionReason.replace(/:[^:]*$/, '')}`)).toEqual([
    'a request_limit: 2 requests were refused unread in the last 4 seconds',
    'a request_limit: 1 request was refused unread in the last second',
    'slow request_limit: 1 request was refused unread in the last second',
    'slow request_limit: 1 request was refused unread in the last 9 seconds',
  ]);
});

// The count of requests that were refused unread: none is lost, whatever fails meanwhile, and no more keys are held than may be.
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRefusedRequests, type RefusedBy } from '../../../sidecar/gateway/refused-requests.ts';
import { createTestSidecar, type TestSidecar } from '../../support/governing.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function start(sidecar: TestSidecar, max?: number) {
  let lost = 0;
  const refused = createRefusedRequests((requests) => {
    lost += requests;
  }, max);
  const index = sidecar.cell.current;
  if (index === null) throw new Error('no policy');
  const find = (keyId: string) => () => ({ governing: sidecar, index, identity: { sub: `apikey:${keyId}`, keyId } });
  const note = (keyId: string, by: RefusedBy = 'requests'): void => refused.note(keyId, by, find(keyId));
  return { refused, note, lost: () => lost };
}

/** By key, what its entries say. */
async function counted(sidecar: TestSidecar): Promise<Readonly<Record<string, number>>> {
  const sums: Record<string, number> = {};
  for (const { keyId, code, decisionReason } of await sidecar.entries()) {
    expect(code).toBe('request_limit');
    sums[keyId] = (sums[keyId] ?? 0) + Number(/^request_limit: (\d+) /.exec(decisionReason)?.[1]);
  }
  return sums;
}

test('a second after the first refusal there is one entry for each key, and another for what comes later', async () => {
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
    "request_limit: 1001 requests were refused unread in this second: 1000 over the key's limit of requests a second, 1 while too many bytes of its bodies were under way",
    'request_limit: 1 request was refused unread in this second: 1 while too many bytes of its bodies were under way',
  ]);
  note('a');
  await refused.close();
  expect(await counted(sidecar)).toEqual({ a: 1_002, b: 1 });
});

test('the sum of what entries say is what was refused, however refusals, seconds and a full disk alternate', async () => {
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

test('what cannot be written at the end, or is of one key more than may be, is said to be lost', async () => {
  const sidecar = await createTestSidecar();
  const { refused, note, lost } = start(sidecar, 2);
  for (const keyId of ['a', 'b', 'c', 'c', 'a']) note(keyId);
  expect(lost()).toBe(2);
  sidecar.spoolFault = 'full';
  await refused.close();
  expect(lost()).toBe(5);
  expect(await counted(sidecar)).toEqual({});
});

import type { QuotaAsk } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import type { OpenQuota } from '../../../../sidecar/engine/link/lease-keeper.ts';
import { LeftUsesReporter } from '../../../../sidecar/engine/link/left-uses.ts';
import { runOf } from '../../../support/lease-names.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { silentLog } from '../../../support/silent-log.ts';

const left = {
  epoch: 'e',
  grants: [
    { counter: runOf('a'), grantId: 7, used: 3 },
    { counter: runOf('b'), grantId: 7, used: 0 },
    { counter: runOf('a'), grantId: 9, used: 1 },
  ],
};

type Behaviour = 'answers' | 'cut' | 'refuses' | 'silent';

function createLedger(behaviours: Behaviour[]) {
  const clock = createManualClock();
  const reporter = new LeftUsesReporter({ clock, random: () => 0.5, log: silentLog });
  const asked: (readonly QuotaAsk[])[] = [];
  let open = 0;
  const quota: OpenQuota = (hearing) => {
    const behaviour = behaviours.shift() ?? 'silent';
    open += 1;
    queueMicrotask(() => {
      if (behaviour === 'cut') hearing.lost('no connection', false);
      else if (behaviour !== 'silent') hearing.opened();
    });
    return {
      ask: async (asks) => {
        asked.push(asks);
        if (behaviour === 'answers') return asks.map(({ counter, number }) => ({ counter, number, result: { kind: 'taken' as const } }));
        queueMicrotask(() => hearing.lost('grant 7 was never made', true));
        throw new Error('grant 7 was never made');
      },
      close: () => {
        open -= 1;
      },
    };
  };
  return {
    clock,
    reporter,
    asked,
    quota,
    get open() {
      return open;
    },
  };
}

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

test('the used calls of all grants of a run are told in one request that asks for nothing', async () => {
  const ledger = createLedger(['answers']);
  expect(await ledger.reporter.report(ledger.quota, () => left)).toBe(true);
  expect(
    ledger.asked.flat().map(({ counter, settled, onlySettles, waiting, revision }) => ({
      run: counter,
      settled,
      onlySettles,
      waiting,
      revision,
    })),
  ).toEqual([
    {
      run: runOf('a'),
      settled: [
        { grantId: 7, used: [{ ageMs: 0, count: 3 }] },
        { grantId: 9, used: [{ ageMs: 0, count: 1 }] },
      ],
      onlySettles: true,
      waiting: 0,
      revision: { epoch: 'e', number: 0 },
    },
    { run: runOf('b'), settled: [{ grantId: 7, used: [] }], onlySettles: true, waiting: 0, revision: { epoch: 'e', number: 0 } },
  ]);
  expect(ledger.open).toBe(0);
});

test('nothing is asked where nothing is known', async () => {
  const ledger = createLedger([]);
  expect(await ledger.reporter.report(ledger.quota, () => null)).toBe(true);
  expect(await ledger.reporter.report(ledger.quota, () => ({ epoch: 'e', grants: [] }))).toBe(true);
  expect(ledger.asked).toEqual([]);
});

test('they are told again until the ledger answers', async () => {
  const ledger = createLedger(['cut', 'silent', 'answers', 'answers']);
  const known = [ledger.reporter.report(ledger.quota, () => left), ledger.reporter.report(ledger.quota, () => left)];
  for (let at = 0; at < 200 && ledger.asked.length < 2; at += 1) {
    await turn();
    ledger.clock.advance(100);
  }
  expect(await Promise.all(known)).toEqual([true, true]);
  expect(ledger.open).toBe(0);
});

test('what the ledger refuses is not told again', async () => {
  const ledger = createLedger(['refuses', 'answers']);
  expect(await ledger.reporter.report(ledger.quota, () => left)).toBe(true);
  expect(await ledger.reporter.report(ledger.quota, () => left)).toBe(true);
  expect(ledger.asked).toHaveLength(2);
});

test('after the close nothing waits', async () => {
  const ledger = createLedger(['silent']);
  const known = [ledger.reporter.report(ledger.quota, () => left), ledger.reporter.report(ledger.quota, () => left)];
  await turn();
  ledger.reporter.close();
  expect(await Promise.all(known)).toEqual([false, false]);
  expect(await ledger.reporter.report(ledger.quota, () => left)).toBe(false);
  await turn();
  expect(ledger.open).toBe(0);
});

import { AppError } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { MoneyReservation } from '../../control-plane/runs/money.ts';
import { createRefusalCounts } from '../../control-plane/runs/refused-money.ts';

const run = { workspaceId: 1, id: 'one' };
const caller = { workspaceId: 1, sub: 'ann' };
const granted: MoneyReservation = { kind: 'granted', reservationId: 'r', amount: 1, shared: false };

function counting(answers: readonly MoneyReservation[], admit: () => Promise<void> = async () => undefined) {
  const registry = new Registry();
  let asked = 0;
  const money = { reserve: async () => answers[asked++] ?? granted, settle: async () => undefined };
  const samples = async (): Promise<readonly string[]> =>
    (await registry.getSingleMetricAsString('tollgate_spend_refused_total')).split('\n').filter((line) => !line.startsWith('#'));
  const { countRefusals, countRefusedDays } = createRefusalCounts(registry);
  return { money: countRefusals(money), admit: countRefusedDays(admit), samples };
}

const counts = (day: number, ancestor: number, own: number): readonly string[] => [
  `tollgate_spend_refused_total{bound="day"} ${day}`,
  `tollgate_spend_refused_total{bound="ancestor"} ${ancestor}`,
  `tollgate_spend_refused_total{bound="run"} ${own}`,
];

test('refused money is counted by the bound that had too little left, and granted money is not counted', async () => {
  const { money, samples } = counting([
    { kind: 'exhausted', bound: 'day' },
    { kind: 'exhausted', bound: 'run' },
    { kind: 'ended' },
    granted,
  ]);
  expect(await samples()).toEqual(counts(0, 0, 0));
  expect(await money.reserve(run, { least: 1, most: 2 })).toEqual({ kind: 'exhausted', bound: 'day' });
  for (let asked = 0; asked < 3; asked++) await money.reserve(run, { least: 1, most: 2 });
  expect(await samples()).toEqual(counts(1, 0, 1));
});

test('a run that cannot begin because the day is spent is counted, and refused as before', async () => {
  const spent = new AppError({ code: 'rate_limited', publicMessage: 'the daily cap is reached' });
  const { admit, samples } = counting([], () => Promise.reject(spent));
  await expect(admit(caller, 1)).rejects.toBe(spent);
  expect(await samples()).toEqual(counts(1, 0, 0));
});

test('other reasons that prevent a run from beginning do not count as refused money', async () => {
  const gone = new Error('the database is gone');
  const { admit, samples } = counting([], () => Promise.reject(gone));
  await expect(admit(caller, 1)).rejects.toBe(gone);
  expect(await samples()).toEqual(counts(0, 0, 0));
});

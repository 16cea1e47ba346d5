import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createRunCounts } from '../../control-plane/runs/metrics.ts';
import type { NewRun, RunEnd } from '../../control-plane/runs/records.ts';

function counting(found: (model: string) => { provider: string; model: string } | null = (model) => ({ provider: 'demo', model })) {
  const registry = new Registry();
  const time = { now: 0 };
  const told: string[] = [];
  const ends: (() => void)[] = [];
  const counts = createRunCounts({ registry, find: found, now: () => time.now, countWaiting: () => Promise.resolve(7) });
  const books = {
    money: counts.countSpend({
      reserve: () => Promise.resolve({ kind: 'ended' }),
      settle: async (_run, _id, spent) => void told.push(`settled ${spent}`),
    }),
    records: counts.countRuns({
      begin: async ({ id }) => id !== 'refused',
      update: (_run, { promptTokens }) => void told.push(`updated ${promptTokens}`),
      wait: () => Promise.resolve({ kind: 'waits', answers: [] }),
      markContinued: () => Promise.resolve(),
      end: (_run, { status }) =>
        new Promise((done) => {
          told.push(`ended ${status}`);
          ends.push(() => done({ spent: 0 }));
        }),
    }),
  };
  const samples = async (name: string): Promise<readonly string[]> =>
    (await registry.getSingleMetricAsString(name)).split('\n').filter((line) => line.startsWith(name));
  return { ...books, time, told, ends, samples };
}

const run = (id: string, model = 'echo'): NewRun => ({
  workspaceId: 1,
  id,
  agentId: 'a',
  agentName: 'bot',
  sub: 'ann',
  parentRunId: null,
  model,
  budget: 0,
  request: null,
});
const end = (fields: Partial<RunEnd> = {}): RunEnd => ({
  status: 'completed',
  stopReason: 'goal_complete',
  output: '',
  error: null,
  transcript: null,
  rounds: 1,
  toolCalls: 0,
  promptTokens: 30,
  completionTokens: 7,
  ...fields,
});

test('a run is running until it ends, and ending until its end is recorded', async () => {
  const { records, samples, ends, time } = counting();
  await records.begin(run('one'));
  await records.begin(run('two'));
  await records.begin(run('refused'));
  expect(await samples('tollgate_runs')).toEqual(['tollgate_runs{state="running"} 2', 'tollgate_runs{state="ending"} 0']);
  time.now = 4_000;
  const ending = records.end(run('one'), end({ status: 'cancelled' }));
  expect(await samples('tollgate_runs')).toEqual(['tollgate_runs{state="running"} 1', 'tollgate_runs{state="ending"} 1']);
  ends[0]?.();
  expect(await ending).toEqual({ spent: 0 });
  expect(await samples('tollgate_runs')).toEqual(['tollgate_runs{state="running"} 1', 'tollgate_runs{state="ending"} 0']);
  expect(await samples('tollgate_runs_ended_total')).toEqual(['tollgate_runs_ended_total{status="cancelled"} 1']);
  expect(await samples('tollgate_run_seconds')).toContain('tollgate_run_seconds_sum{status="cancelled"} 4');
});

test('money is counted when it is settled, tokens when they are reported, each token once', async () => {
  const { money, records, samples, told, ends } = counting();
  await records.begin(run('one'));
  await money.settle(run('one'), 'r1', 2_500_000);
  records.update(run('one'), { rounds: 1, toolCalls: 0, promptTokens: 10, completionTokens: 3, transcript: null });
  await money.settle(run('one'), 'r2', 500_000);
  const ending = records.end(run('one'), end());
  ends[0]?.();
  await ending;
  expect(await samples('tollgate_spend_cents_total')).toEqual(['tollgate_spend_cents_total{provider="demo",model="echo"} 3']);
  expect(await samples('tollgate_spend_tokens_total')).toEqual([
    'tollgate_spend_tokens_total{provider="demo",model="echo",kind="input"} 30',
    'tollgate_spend_tokens_total{provider="demo",model="echo",kind="output"} 7',
  ]);
  expect(told).toEqual(['settled 2500000', 'updated 10', 'settled 500000', 'ended completed']);
});

test('the number of model labels is bounded, and an unknown model has no label of its own', async () => {
  const { money, records, samples } = counting((model) => (model === 'unknown' ? null : { provider: 'demo', model }));
  for (let at = 0; at < 105; at++) {
    await records.begin(run(`run${at}`, `model${at}`));
    await money.settle(run(`run${at}`), 'r', 1_000_000);
  }
  await records.begin(run('last', 'unknown'));
  await money.settle(run('last'), 'r', 1_000_000);
  const lines = await samples('tollgate_spend_cents_total');
  expect(lines).toHaveLength(101);
  expect(lines).toContain('tollgate_spend_cents_total{provider="other",model="other"} 6');
});

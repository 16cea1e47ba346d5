// Counts the runs of this process, how they ended, and what they cost. It wraps the records and the money of runs. Runs
// that another control plane left behind are not counted.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { centsFromMicrocents } from './rules/money.ts';
import { type RunProgress, type RunRef, runKey } from './rules/run.ts';
import type { Money } from './money.ts';
import type { NewRun, RunRecords } from './records.ts';

/** A model as it appears in labels. */
export interface CountedModel {
  readonly provider: string;
  readonly model: string;
}

export interface RunMetricsDeps {
  readonly registry: Registry;
  /** Null: the model is not known here. */
  readonly find: (model: string) => CountedModel | null;
  /** Milliseconds since an arbitrary start. */
  readonly now: () => number;
}

interface Books {
  readonly money: Money;
  readonly records: RunRecords;
}

interface CountedRun {
  readonly labels: CountedModel;
  readonly startedAt: number;
  promptTokens: number;
  completionTokens: number;
}

/** The largest number of models in labels. Further models share the label `other`. */
const modelsMax = 100;
const other: CountedModel = { provider: 'other', model: 'other' };

/** Returns the same records and money, with counting added. */
export function countRuns({ registry, find, now }: RunMetricsDeps, { money, records }: Books): Books {
  const counts = createCounts(registry);
  const bounded = boundedModels(find);
  const going = new Map<string, CountedRun>();
  const count = (run: RunRef, progress: RunProgress): void => {
    const counted = going.get(runKey(run));
    if (counted === undefined) return;
    const { labels, promptTokens, completionTokens } = counted;
    counts.tokens.inc({ ...labels, kind: 'input' }, Math.max(0, progress.promptTokens - promptTokens));
    counts.tokens.inc({ ...labels, kind: 'output' }, Math.max(0, progress.completionTokens - completionTokens));
    Object.assign(counted, { promptTokens: progress.promptTokens, completionTokens: progress.completionTokens });
  };
  const begin = async (run: NewRun): Promise<boolean> => {
    if (!(await records.begin(run))) return false;
    going.set(runKey(run), { labels: bounded(run.model), startedAt: now(), promptTokens: 0, completionTokens: 0 });
    counts.runs.inc({ state: 'running' });
    return true;
  };
  const end: RunRecords['end'] = async (run, how) => {
    count(run, how);
    const counted = going.get(runKey(run));
    if (counted === undefined) return records.end(run, how);
    counts.runs.dec({ state: 'running' });
    counts.runs.inc({ state: 'ending' });
    counts.ended.inc({ status: how.status });
    counts.seconds.observe({ status: how.status }, (now() - counted.startedAt) / 1000);
    try {
      return await records.end(run, how);
    } finally {
      counts.runs.dec({ state: 'ending' });
      going.delete(runKey(run));
    }
  };
  return {
    records: {
      begin,
      end,
      update: (run, progress) => {
        count(run, progress);
        records.update(run, progress);
      },
    },
    money: {
      reserve: (...asked) => money.reserve(...asked),
      settle: (run, reservationId, spent, signal) => {
        counts.spent.inc({ ...(going.get(runKey(run))?.labels ?? other) }, centsFromMicrocents(spent));
        return money.settle(run, reservationId, spent, signal);
      },
    },
  };
}

function createCounts(registry: Registry) {
  const registers = [registry];
  const runs = new Gauge({
    name: 'tollgate_runs',
    help: 'Runs of this process now: running, or ending, which they are until the database has their end',
    labelNames: ['state'],
    registers,
  });
  for (const state of ['running', 'ending']) runs.set({ state }, 0);
  return {
    runs,
    ended: new Counter({ name: 'tollgate_runs_ended_total', help: 'Runs that ended, by how', labelNames: ['status'], registers }),
    seconds: new Histogram({
      name: 'tollgate_run_seconds',
      help: 'How long runs took, by how they ended',
      labelNames: ['status'],
      buckets: [0.1, 0.5, 1, 5, 15, 30, 60, 300, 900, 1_800, 3_600],
      registers,
    }),
    spent: new Counter({
      name: 'tollgate_spend_cents_total',
      help: 'Money that model calls of runs were settled with, in US cents',
      labelNames: ['provider', 'model'],
      registers,
    }),
    tokens: new Counter({
      name: 'tollgate_spend_tokens_total',
      help: 'Tokens of model calls of runs, as providers reported them',
      labelNames: ['provider', 'model', 'kind'],
      registers,
    }),
  };
}

/** Administrators choose the models from a long list, so the number of labels needs a bound. */
function boundedModels(find: RunMetricsDeps['find']): (model: string) => CountedModel {
  const known = new Set<string>();
  return (name) => {
    const found = find(name);
    if (found === null) return other;
    const key = `${found.provider} ${found.model}`;
    if (!known.has(key) && known.size >= modelsMax) return other;
    known.add(key);
    return found;
  };
}

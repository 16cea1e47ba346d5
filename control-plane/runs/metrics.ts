// Counts the runs of this process, how they ended, and what they cost. It wraps the records and the money of runs.
// Abandoned runs of other control planes are not counted.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { centsFromMicrocents } from './rules/money.ts';
import { type RunProgress, type RunRef, runKey, type ToldProgress } from './rules/run.ts';
import type { Money } from './money.ts';
import type { NewRun, RunEnd, RunRecords } from './records.ts';
import type { TakenRun } from './runner.ts';
import type { Wait, WaitOutcome } from './waiting.ts';

/** A model as it appears in labels. */
export interface CountedModel {
  readonly provider: string;
  readonly model: string;
}

export interface RunMetricsDeps {
  /** Returns the number of runs that wait for persons, in the whole database. If it rejects, the last value stays. */
  readonly countWaiting: () => Promise<number>;
  readonly registry: Registry;
  /** Returns a model as it appears in labels; null: the model is not known here. */
  readonly find: (model: string) => CountedModel | null;
  /** Milliseconds since an arbitrary start. */
  readonly now: () => number;
}

interface CountedRun {
  readonly labels: CountedModel;
  readonly startedAt: number;
  promptTokens: number;
  completionTokens: number;
}

/** The maximum number of models in labels. All other models share the label `other`. */
const modelsMax = 100;
const other: CountedModel = { provider: 'other', model: 'other' };

export interface RunCounts {
  /** Returns records that also count runs and tokens. */
  readonly countRuns: (records: RunRecords) => RunRecords;
  /** Counts a run that continues in this process. */
  readonly countResumed: (taken: Pick<TakenRun, 'run' | 'stored'>) => void;
  /**
   * Returns a `Money` that also counts what is spent. The model in the label is known only for runs that `countRuns`
   * has counted.
   */
  readonly countSpend: (money: Money) => Money;
}

export function createRunCounts({ registry, find, now, countWaiting }: RunMetricsDeps): RunCounts {
  const counters = createCounters(registry);
  exportWaiting(registry, countWaiting);
  const going = new Map<string, CountedRun>();
  const labelsOf = boundedModels(find);
  return {
    countRuns: (records) => new CountedRecords(records, { counters, going, labelsOf, now }),
    countResumed: ({ run, stored: { model, conversation } }) => {
      const { promptTokens, completionTokens } = conversation;
      going.set(runKey(run), { labels: labelsOf(model), startedAt: now(), promptTokens, completionTokens });
      counters.runs.inc({ state: 'running' });
    },
    countSpend: (money) => ({
      reserve: (run, wanted, signal) => money.reserve(run, wanted, signal),
      settle: (run, reservationId, spent, signal) => {
        counters.spent.inc({ ...(going.get(runKey(run))?.labels ?? other) }, centsFromMicrocents(spent));
        return money.settle(run, reservationId, spent, signal);
      },
    }),
  };
}

interface RunCounting {
  readonly counters: ReturnType<typeof createCounters>;
  readonly going: Map<string, CountedRun>;
  readonly labelsOf: (model: string) => CountedModel;
  readonly now: () => number;
}

class CountedRecords implements RunRecords {
  readonly #records: RunRecords;
  readonly #counting: RunCounting;

  constructor(records: RunRecords, counting: RunCounting) {
    this.#records = records;
    this.#counting = counting;
  }

  async begin(run: NewRun): Promise<boolean> {
    if (!(await this.#records.begin(run))) return false;
    const { counters, going, labelsOf, now } = this.#counting;
    going.set(runKey(run), { labels: labelsOf(run.model), startedAt: now(), promptTokens: 0, completionTokens: 0 });
    counters.runs.inc({ state: 'running' });
    return true;
  }

  update(run: RunRef, progress: ToldProgress): void {
    this.#countTokens(run, progress);
    this.#records.update(run, progress);
  }

  async wait(run: RunRef, wait: Wait): Promise<WaitOutcome> {
    this.#countTokens(run, wait.progress);
    const outcome = await this.#records.wait(run, wait);
    const { counters, going } = this.#counting;
    if (outcome.kind === 'waits' && going.delete(runKey(run))) counters.runs.dec({ state: 'running' });
    return outcome;
  }

  markContinued(run: RunRef): Promise<void> {
    return this.#records.markContinued(run);
  }

  async end(run: RunRef, how: RunEnd): Promise<{ readonly spent: number } | null> {
    this.#countTokens(run, how);
    const { counters, going, now } = this.#counting;
    const counted = going.get(runKey(run));
    if (counted === undefined) return this.#records.end(run, how);
    counters.runs.dec({ state: 'running' });
    counters.runs.inc({ state: 'ending' });
    counters.ended.inc({ status: how.status });
    counters.seconds.observe({ status: how.status }, (now() - counted.startedAt) / 1000);
    try {
      return await this.#records.end(run, how);
    } finally {
      counters.runs.dec({ state: 'ending' });
      going.delete(runKey(run));
    }
  }

  #countTokens(run: RunRef, progress: RunProgress): void {
    const { counters, going } = this.#counting;
    const counted = going.get(runKey(run));
    if (counted === undefined) return;
    const { labels, promptTokens, completionTokens } = counted;
    counters.tokens.inc({ ...labels, kind: 'input' }, Math.max(0, progress.promptTokens - promptTokens));
    counters.tokens.inc({ ...labels, kind: 'output' }, Math.max(0, progress.completionTokens - completionTokens));
    counted.promptTokens = progress.promptTokens;
    counted.completionTokens = progress.completionTokens;
  }
}

function exportWaiting(registry: Registry, count: RunMetricsDeps['countWaiting']): void {
  const waiting = new Gauge({
    name: 'tollgate_runs_waiting',
    help: 'Runs that wait for a person, in the whole database',
    registers: [registry],
    async collect() {
      const now = await count().catch(() => null);
      if (now !== null) waiting.set(now);
    },
  });
}

function createCounters(registry: Registry) {
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

/** Limits the number of models in labels, because administrators choose the models from a long list. */
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

// Repeats the subject and its baseline in turn, so that a machine whose speed drifts slows both, and returns the median
// of the pairwise ratios. Absolute times are printed for people; only ratios are judged.

import { type TargetId, targets } from './targets.ts';

export interface Result {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The baseline of the same run. */
  readonly baseline: string;
  readonly ratio: number;
  /** Null: for orientation, without a target. */
  readonly target: number | null;
  readonly ok: boolean;
  /** Which side of the target the ratio should be on. */
  readonly bound: 'at most' | 'at least';
}

/** A row whose baseline is not available. */
interface NotMeasured {
  readonly name: string;
  /** The reason, and what to do. */
  readonly notMeasured: string;
}

export type Row = Result | NotMeasured;

export const isMeasured = (row: Row): row is Result => !('notMeasured' in row);

type MeasuredFigure = Omit<Result, 'ok' | 'bound' | 'target'>;

/** Mean ns of one of `batch` calls. */
export type BatchTimer = (batch: number) => number;

export function timeBatch(run: (at: number) => void): BatchTimer {
  return (batch) => {
    const startedAt = process.hrtime.bigint();
    for (let at = 0; at < batch; at++) run(at);
    return Number(process.hrtime.bigint() - startedAt) / batch;
  };
}

export interface Pair {
  readonly ns: number;
  readonly baselineNs: number;
  readonly ratio: number;
}

/** Runs `rounds` pairs after one round that is not counted. */
export function comparePairs(
  subject: BatchTimer,
  baseline: BatchTimer,
  { batch, rounds }: { readonly batch: number; readonly rounds: number },
): Pair {
  subject(batch);
  baseline(batch);
  const pairs = Array.from({ length: rounds }, () => {
    const ns = subject(batch);
    const baselineNs = baseline(batch);
    return { ns, baselineNs, ratio: ns / baselineNs };
  });
  return {
    ns: median(pairs.map(({ ns }) => ns)),
    baselineNs: median(pairs.map(({ baselineNs }) => baselineNs)),
    ratio: median(pairs.map(({ ratio }) => ratio)),
  };
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * at))] ?? Number.NaN;
}

const round = (value: number): number => Number(value.toPrecision(4));

/** `ok` where the ratio is on the correct side of that target. */
export function judge(id: TargetId, fields: MeasuredFigure): Result {
  const { bound, value: target } = targets[id];
  return judged(fields, bound, target);
}

/** `ok` where the amount, in the unit of that target, is at most the target; the ratio is amount divided by target. */
export function judgeAmount(id: TargetId, amount: number, fields: Omit<MeasuredFigure, 'ratio'>): Result {
  return judged({ ...fields, ratio: amount / targets[id].value }, 'at most', 1);
}

/** A row without a target: it only reports a figure. */
export function orient(fields: MeasuredFigure): Result {
  return { ...judged(fields, 'at most', Number.POSITIVE_INFINITY), target: null };
}

function judged(fields: MeasuredFigure, bound: Result['bound'], target: number): Result {
  const ok = bound === 'at most' ? fields.ratio <= target : fields.ratio >= target;
  return { ...fields, value: round(fields.value), ratio: round(fields.ratio), target, ok, bound };
}

/**
 * Merges the rows of several runs of one bench: for each row the median run by ratio, with the median value. For shares
 * of denied calls it takes the worst.
 */
export function middleOf(runs: readonly (readonly Row[])[]): readonly Row[] {
  return (runs[0] ?? []).map(({ name }) => {
    const rows = runs.flatMap((rows) => rows.find((row) => row.name === name) ?? { name, notMeasured: 'one of its runs has no such row' });
    const missing = rows.find((row) => !isMeasured(row));
    if (missing !== undefined) return missing;
    const byRatio = rows.filter(isMeasured).toSorted((a, b) => a.ratio - b.ratio);
    const isShare = byRatio.every(({ unit }) => unit.startsWith('%'));
    const middle = byRatio[isShare ? byRatio.length - 1 : Math.floor(byRatio.length / 2)];
    if (middle === undefined) throw new Error(`${name} was measured by no run`);
    return { ...middle, value: isShare ? middle.value : round(median(byRatio.map(({ value }) => value))) };
  });
}

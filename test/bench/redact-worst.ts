// R10: for each detector the worst inputs of 100 kB, on the detector alone and in the redactor as it runs. All inputs
// are tried; those that were slow or grew fast are measured. Figures are CPU time, the best of several runs, so that
// other load of the machine does not count. The slope is that of log(time) over log(length), by least squares.
import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { detectors } from '../../sidecar/engine/redact/detectors/index.ts';
import { createFinder, nothingKnown } from '../../sidecar/engine/redact/finder.ts';
import { loadCorpus } from '../redact/corpus.ts';
import { commonInputs, samplesOf, type WorstInput, worstInputs } from '../redact/worst.ts';
import type { Result } from './measure.ts';
import { targets } from './targets.ts';

const lengths = [12_500, 25_000, 50_000, 100_000];
const longest = 100_000;
const msMax = targets.R10.value;
const slopeMax = 1.3;
// In the redactor, inputs are tried at this length, because it runs every detector on each.
const triedInWhole = 12_500;
const runs = 5;
// A timed run takes at least this long; shorter ones are repeated several times.
const timedMsMin = 2;
const hopelessMs = 500;
// Slow inputs that are measured at every length.
const candidates = 2;

type Run = (text: string) => void;

interface Timing {
  readonly input: WorstInput;
  readonly ms: number;
  readonly growth: number;
}

export function* benchWorst(): Generator<Result> {
  const samples = samplesOf(loadCorpus('development').rows);
  const redactor = createRedactor(plainRedaction, []);
  const whole: Run = (text) => void redactor.redactText(text, createNumbers());
  for (const [at, detector] of detectors.entries()) {
    const finder = createFinder([detector]);
    const alone: Run = (text) => void finder.find(text, 0, nothingKnown, { spend: () => {} });
    const name = `R10 ${detector.kind}[${at}]`;
    const inputs = worstInputs(detector, samples);
    yield resultOf(`${name} alone`, alone, worstFor(alone, [...inputs, ...commonInputs]));
    yield resultOf(`${name} in the whole`, whole, slowestFor(whole, inputs));
  }
  yield resultOf('R10 what is hard on all', whole, worstFor(whole, commonInputs));
}

/** The slowest, after one run of each at a smaller length. */
function slowestFor(run: Run, inputs: readonly WorstInput[]): readonly WorstInput[] {
  const tried = inputs.map((input) => ({ input, ms: timeOnce(run, input.make(triedInWhole)) }));
  return tried
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, candidates)
    .map(({ input }) => input);
}

/** The slowest, and the one that grew most, after few runs of each. */
function worstFor(run: Run, inputs: readonly WorstInput[]): readonly WorstInput[] {
  const screened = inputs.map((input) => screen(run, input)).toSorted((a, b) => b.ms - a.ms);
  const steepest = screened.toSorted((a, b) => b.growth - a.growth).slice(0, 1);
  return [...new Set([...screened.slice(0, candidates), ...steepest].map(({ input }) => input))];
}

function resultOf(name: string, run: Run, inputs: readonly WorstInput[]): Result {
  const measured = inputs.map((input) => measure(run, input));
  const slowest = measured.toSorted((a, b) => b.ms - a.ms)[0];
  const steep = measured.toSorted((a, b) => b.slope - a.slope)[0];
  if (slowest === undefined || steep === undefined) throw new Error(`there is no input for ${name}`);
  return {
    name: `${name}: ${slowest.name}; slope ${steep.slope.toFixed(2)} of at most ${slopeMax}${steep === slowest ? '' : ` (${steep.name})`}`,
    value: Number(slowest.ms.toPrecision(4)),
    unit: 'ms of CPU time',
    baseline: `${msMax} ms`,
    ratio: Number((slowest.ms / msMax).toPrecision(4)),
    target: 1,
    ok: slowest.ms <= msMax && steep.slope <= slopeMax,
    bound: 'at most',
  };
}

function screen(run: Run, input: WorstInput): Timing {
  const ms = timeOf(run, input.make(longest), 1);
  // Growth of a run that takes almost no time is random.
  const growth = ms < timedMsMin ? 0 : ms / timeOf(run, input.make(longest / 4), 1);
  return { input, ms, growth };
}

function measure(run: Run, { name, make }: WorstInput): { readonly name: string; readonly ms: number; readonly slope: number } {
  const points = lengths.map((length) => {
    const text = make(length);
    return { length: text.length, ms: timeOf(run, text, runs) };
  });
  return { name, ms: points.at(-1)?.ms ?? Number.NaN, slope: slopeOf(points.map(({ length, ms }) => [Math.log(length), Math.log(ms)])) };
}

/** The best of several runs, after one that is not counted. */
function timeOf(run: Run, text: string, times: number): number {
  const firstMs = timeOnce(run, text);
  const batch = Math.max(1, Math.ceil(timedMsMin / Math.max(0.001, firstMs)));
  // So slow that one run is enough.
  const timings = Array.from({ length: firstMs > hopelessMs ? 1 : times }, () => {
    const from = cpuMs();
    for (let at = 0; at < batch; at++) run(text);
    return (cpuMs() - from) / batch;
  });
  return Math.min(...timings);
}

function timeOnce(run: Run, text: string): number {
  const from = cpuMs();
  run(text);
  return cpuMs() - from;
}

/** CPU time of the whole process, so garbage collection counts. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** By least squares. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covariance = mean(points.map(([px, py]) => (px - x) * (py - y)));
  return covariance / mean(points.map(([px]) => (px - x) ** 2));
}

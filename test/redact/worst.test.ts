// R10, in work and not in time: the work of redaction for a text grows in proportion to its length, for every text.

import { plainRedaction } from '@tollgate/proto/contract';
import { createNumbers, createRedactor } from '@tollgate/sidecar/engine/redact';
import { describe, expect, test } from 'vitest';
import type { Detector } from '../../sidecar/engine/redact/detector.ts';
import { detectors } from '../../sidecar/engine/redact/detectors/index.ts';
import { createFinder, nothingKnown } from '../../sidecar/engine/redact/finder.ts';
import { loadCorpus } from './corpus.ts';
import { commonInputs, samplesOf, type WorstInput, worstInputs } from './worst.ts';

const samples = samplesOf(loadCorpus('development').rows);
const named = detectors.map((detector, at) => ({ name: `${detector.kind}[${at}]`, detector }));
const short = 4_000;
const whole = 100_000;
// The input doubles. A tenth is added for what does not divide evenly.
const growthMax = 2.2;
// The whole redaction runs on this many inputs of each detector.
const busiestMax = 3;

const redactor = createRedactor(plainRedaction, []);
const finder = createFinder(detectors);

describe.each(named)('$name', ({ detector }) => {
  const inputs = worstInputs(detector, samples);

  test('is called at most twice as often for a text of twice the length', () => {
    expect([...inputs, ...commonInputs].filter((input) => growthOf(detector, input) > growthMax).map(({ name }) => name)).toEqual([]);
  });

  test('finds nothing outside its reach', () => {
    expect(
      [...inputs, ...commonInputs]
        .filter((input) => !staysWithinReach(detector, input.make(short + 2 * (detector.follows ?? 0))))
        .map(({ name }) => name),
    ).toEqual([]);
  });

  test('never needs more work for 100 kB than one call may use', () => {
    expect(
      busiest(inputs)
        .filter((input) => isOverBudget(input.make(whole)))
        .map(({ name }) => name),
    ).toEqual([]);
  });
});

test.each(commonInputs)('100 kB of $name need no more work than one call may use', ({ make }) => {
  expect(isOverBudget(make(whole))).toBe(false);
});

/** The units of work and the number of places checked, each as a ratio of the full text to its half. */
function growthOf(detector: Detector, { make }: WorstInput): number {
  const [half, full] = [make(short), make(short * 2)];
  const [before, after] = [workOf(detector, half), workOf(detector, full)];
  return ((after / before) * 2 * half.length) / full.length;
}

function workOf(detector: Detector, text: string): number {
  let work = 0;
  const find: Detector['find'] = (...args) => {
    // Positions that are checked but not counted as units would not show in the units alone.
    work += detector.reach.before + detector.reach.after;
    detector.find(...args);
  };
  const spend = (units: number): void => void (work += units);
  createFinder([{ ...detector, find }]).find(text, 0, nothingKnown, { spend });
  return work;
}

/** The inputs that use most of the work budget of one call, with all detectors together. */
function busiest(inputs: readonly WorstInput[]): readonly WorstInput[] {
  const costs = new Map(inputs.map((input) => [input, costOf(input.make(short / 4))]));
  return inputs.toSorted((a, b) => (costs.get(b) ?? 0) - (costs.get(a) ?? 0)).slice(0, busiestMax);
}

function costOf(text: string): number {
  let cost = 0;
  const spend = (units: number): void => void (cost += units);
  finder.find(text, 0, nothingKnown, { spend });
  return cost;
}

function staysWithinReach(detector: Detector, text: string): boolean {
  const { reach, follows = reach.after } = detector;
  let within = true;
  const checked: Detector['find'] = (text, at, end, found) => {
    let last = at;
    detector.find(text, at, end, (start, stop) => {
      within &&= start >= at - reach.before && stop <= Math.max(at + reach.after, last + follows) && start < stop;
      last = Math.max(last, stop);
      found(start, stop);
    });
  };
  createFinder([{ ...detector, find: checked }]).find(text, 0, nothingKnown, { spend: () => {} });
  return within;
}

function isOverBudget(text: string): boolean {
  const { findings } = redactor.redactText(text, createNumbers());
  return findings.some(({ kind }) => kind === 'over_budget');
}

// Measures durations on this machine. Only long tests and benchmarks measure them: elsewhere time is virtual, or work
// is counted.
import type { Measure } from '../chaos/measure.ts';

export async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly result: T }> {
  const startedAt = performance.now();
  const result = await work();
  return { ms: performance.now() - startedAt, result };
}

/** CPU time of this process for synchronous work, in ms. */
export function cpuMsOf(work: () => unknown): number {
  const startedAt = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(startedAt);
  return (user + system) / 1_000;
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

interface StepTimes {
  readonly measure: Measure;
  readonly steps: () => readonly string[];
  readonly ms: (step: string) => readonly number[];
}

/** Measures the steps of a scenario, each time that a step runs. */
export function createMeasured(): StepTimes {
  const taken: { readonly step: string; readonly ms: number }[] = [];
  return {
    measure: async (step, work) => {
      const { ms, result } = await timed(work);
      taken.push({ step, ms });
      return result;
    },
    steps: () => [...new Set(taken.map(({ step }) => step))],
    // A step that never ran does not count as in time.
    ms: (step) => {
      const found = taken.filter((one) => one.step === step).map(({ ms }) => ms);
      if (found.length === 0) throw new Error(`the step "${step}" was not taken`);
      return found;
    },
  };
}

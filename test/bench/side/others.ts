// Whether the machine is quiet: how much CPU processes take that this run did not start. A figure that others disturbed is not reported.
import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessTable, readProcesses, treeOf } from './processes.ts';

/** Of one core. */
export const othersCoresMax = 0.1;
const looksMs = 3_000;

export interface Others {
  readonly cores: number;
  /** Those that took most, with their share of a core. */
  readonly names: string;
}

/** Begins to watch; each call of the answer says what others took since the begin. */
export function watchOthers(): () => Others {
  const before = readProcesses();
  const startedAt = performance.now();
  return () => othersBetween(before, readProcesses(), { own: process.pid, seconds: (performance.now() - startedAt) / 1000 });
}

/** The same for three seconds from now. */
export async function lookAtOthers(): Promise<Others> {
  const watched = watchOthers();
  await delay(looksMs);
  return watched();
}

export function othersBetween(
  before: ProcessTable,
  after: ProcessTable,
  { own, seconds }: { readonly own: number; readonly seconds: number },
): Others {
  const ours = treeOf(own, after);
  const taken = [...after.values()]
    .filter(({ pid, parent }) => !ours.has(pid) && !isKernel(pid, parent))
    .map(({ pid, name, cpu, startedAt }) => {
      const earlier = before.get(pid);
      const cpuBefore = earlier?.startedAt === startedAt ? earlier.cpu : 0;
      return { name: `${name} (${pid})`, cores: (cpu - cpuBefore) / seconds };
    })
    .toSorted((a, b) => b.cores - a.cores);
  return {
    cores: taken.reduce((sum, { cores }) => sum + cores, 0),
    names: taken
      .slice(0, 3)
      .filter(({ cores }) => cores > 0)
      .map(({ name, cores }) => `${name} ${cores.toFixed(2)}`)
      .join(', '),
  };
}

/** Threads of the kernel work for whoever asks it, us included. */
const isKernel = (pid: number, parent: number): boolean => pid === 2 || parent === 2;

// Checks that the machine is quiet: how much CPU is used by processes that this run did not start. A figure that they
// disturbed is not reported.
import { setTimeout as delay } from 'node:timers/promises';
import { type ProcessTable, readProcesses, treeOf } from './processes.ts';

/** Of one core. */
export const othersCoresMax = 0.1;
const windowMs = 5_000;
const looksMs = 3_000;

export interface Others {
  readonly cores: number;
  /** The processes that used most, with their share of a core. */
  readonly names: string;
}

/**
 * Starts to watch. The returned function stops the watch and returns the usage of other processes in the worst window
 * of five seconds.
 */
export function watchOthers(): () => Others {
  let from = { table: readProcesses(), at: performance.now() };
  let worst: Others = { cores: 0, names: '' };
  const look = (): void => {
    const to = { table: readProcesses(), at: performance.now() };
    const seen = othersBetween(from.table, to.table, { own: process.pid, seconds: (to.at - from.at) / 1000 });
    if (seen.cores > worst.cores) worst = seen;
    from = to;
  };
  const timer = setInterval(look, windowMs);
  return () => {
    clearInterval(timer);
    // A short rest of a window would exaggerate its load.
    if (performance.now() - from.at > windowMs / 2) look();
    return worst;
  };
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
    .map((row) => ({ name: `${row.name} (${row.pid})`, cores: takenBy(row, before, after) / seconds }))
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

type ProcessRow = ProcessTable extends ReadonlyMap<number, infer Row> ? Row : never;

/** CPU seconds since `before`: its own, and those of children that ended since, minus what they had used before. */
function takenBy(row: ProcessRow, before: ProcessTable, after: ProcessTable): number {
  const known = before.get(row.pid);
  const earlier = known?.startedAt === row.startedAt ? known : { own: 0, ended: 0 };
  const endedChildren = [...before.values()].filter(
    ({ pid, parent, startedAt }) => parent === row.pid && after.get(pid)?.startedAt !== startedAt,
  );
  const theirs = endedChildren.reduce((sum, child) => sum + child.own + child.ended, 0);
  return row.own - earlier.own + Math.max(0, row.ended - earlier.ended - theirs);
}

/** Kernel threads work for every process, this run included. */
const isKernel = (pid: number, parent: number): boolean => pid === 2 || parent === 2;

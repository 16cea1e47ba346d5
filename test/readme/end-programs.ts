// Ends the programs that the blocks of a page started: SIGTERM to the group of the shell, as Ctrl-C would, and SIGKILL
// to the remaining ones. Called by `shell.ts`.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';

/** Longer than an embedded PostgreSQL takes to stop. */
const orderlyMs = 20_000;

/** Resolves when no process of the group and none that works in `folder` is left. */
export async function endPrograms(group: number, folder: string): Promise<void> {
  // Group 0 would be our own.
  if (group === 0) return;
  signal(-group, 'SIGTERM');
  const deadline = performance.now() + orderlyMs;
  while (findPrograms(group, folder).length > 0 && performance.now() < deadline) await wait(50);
  for (const pid of findPrograms(group, folder)) signal(pid, 'SIGKILL');
  while (findPrograms(group, folder).length > 0) await wait(20);
}

/** Where no process table can be read, only the group. */
function findPrograms(group: number, folder: string): readonly number[] {
  const pids = readTable();
  if (pids === null) return signal(-group, 0) ? [-group] : [];
  return pids.filter((pid) => pid !== process.pid && (groupOf(pid) === group || worksIn(pid, folder)));
}

function readTable(): readonly number[] | null {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return null;
  }
}

/** Null for a process that has ended, also where its parent has not collected its status yet. */
function groupOf(pid: number): number | null {
  try {
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' ? null : Number(group);
  } catch {
    return null;
  }
}

function worksIn(pid: number, folder: string): boolean {
  try {
    const at = readlinkSync(`/proc/${pid}/cwd`);
    return at === folder || at.startsWith(`${folder}/`);
  } catch {
    return false;
  }
}

function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

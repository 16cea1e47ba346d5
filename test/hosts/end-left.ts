// Ends what an agent left running, so that no check is served by a process of another one: Cline starts a program that
// serves the sessions of its home, and outlives them. Such a process is known by its HOME, a folder that only a check
// has. It is found where the system has /proc.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../support/programs.ts';

/** Ends every process whose HOME is a home of this host in this folder, and returns when none is left. */
export async function endLeftRunning(folder: string, host: string): Promise<void> {
  const start = `HOME=${join(folder, `${host}-`)}`;
  for (const pid of await startedWith(start)) end(pid);
  await eventually(
    () => startedWith(start),
    (left) => left.length === 0,
  );
}

/** The processes with a variable that begins like this. */
async function startedWith(start: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const variables = (pid: string): Promise<readonly string[]> =>
    readFile(`/proc/${pid}/environ`, 'utf8').then(
      (text) => text.split('\0'),
      () => [],
    );
  const found = await Promise.all(
    pids.map(async (pid) => ((await variables(pid)).some((one) => one.startsWith(start)) ? [Number(pid)] : [])),
  );
  return found.flat();
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

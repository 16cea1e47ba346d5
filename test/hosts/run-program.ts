// Runs a program to its end, in a process group of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramEnd {
  /** Null: a signal ended it. */
  readonly code: number | null;
  /** What it wrote to standard output and standard error, in the order of arrival. */
  readonly text: string;
}

interface Running {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

/** Throws, with the end of what it wrote, if it takes longer than the limit. */
export async function runProgram([program = '', ...words]: readonly string[], { cwd, env, limitMs }: Running): Promise<ProgramEnd> {
  // In a process group of its own, so that no process that it started outlives it.
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (more: string) => (text += more));
  const limit = AbortSignal.timeout(limitMs);
  limit.addEventListener('abort', () => endGroup(child), { once: true });
  const [exit]: unknown[] = await once(child, 'exit');
  endGroup(child);
  if (limit.aborted)
    throw new Error(`${program} ${words.join(' ')} did not end within ${limitMs / 1_000} s; it said:\n${text.slice(-2_000)}`);
  return { code: typeof exit === 'number' ? exit : null, text };
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // No process is left.
  }
}

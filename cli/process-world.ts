// Gives a command-line program its process: environment, streams, terminal, clock and signals.
import { homedir } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { createPrompts } from './prompts.ts';
import type { World } from './world.ts';

/**
 * Creates the world of this process. Call it once in a process. `manifest`: the package.json of the program, which
 * contains its version.
 */
export function worldOfProcess(manifest: unknown): World {
  const { stdin, stdout, stderr } = process;
  // A reader that closes the pipe, such as `head`, has read enough. This is not an error.
  for (const sink of [stdout, stderr])
    sink.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  return {
    env: process.env,
    version: typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown',
    home: homedir(),
    cwd: process.cwd(),
    self: [process.execPath, process.argv[1] ?? 'tollgate'].map((part) => `"${part}"`).join(' '),
    stdin,
    stdout,
    stderr,
    prompts: stdin.isTTY && stderr.isTTY ? createPrompts(stdin, stderr) : null,
    now: () => new Date(),
    random: Math.random,
    wait: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
    interruption: () => {
      const interrupted = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort());
      return interrupted.signal;
    },
  };
}

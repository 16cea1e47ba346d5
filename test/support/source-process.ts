// Runs a script of this folder from its source, in a process of its own that ends with the test.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export function startSource(script: string, ...scriptArguments: readonly string[]): ChildProcessWithoutNullStreams {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=tollgate-source', path, ...scriptArguments]);
  child.stderr.pipe(process.stderr);
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

export function exitOf(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('close', resolve);
  });
}

// Runs commands of packages that need a newer Node than this repository's, by npx on that Node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export async function runOnNode24(pinned: string, command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const child = spawn('npx', ['-y', '-p', 'node@24.9.0', '-p', pinned, '--', ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}

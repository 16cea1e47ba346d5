// Builds the programs before tests that start them as a user does, so that no test runs a build older than the sources.
// vitest.config.ts names it as a global setup of several projects, which are built once for all of them.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

const mark = Symbol.for('tollgate.test.built');

export default function build(): void {
  // Each project loads this module for itself.
  if (Reflect.has(globalThis, mark)) return;
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the programs cannot be built: see what npm run build says');
  Reflect.set(globalThis, mark, true);
}

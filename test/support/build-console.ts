// Builds the console before tests that open it in a browser. vitest.config.ts names it as a global setup.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export default function buildConsole(): void {
  const { status } = spawnSync('npm', ['run', '--silent', 'console'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('the console cannot be built: see what npm run console says');
}

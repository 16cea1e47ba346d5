// Builds the console, if its sources have changed since the last build. `--or-without`: if it cannot be built, says so
// and succeeds, because the control plane works without it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const mark = join(folder, 'dist', '.sources');

const sources = readdirSync(folder, { withFileTypes: true, recursive: true })
  .filter((one) => one.isFile())
  .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
  .filter((path) => !/^(dist|node_modules)\//.test(path))
  .sort();
const hash = createHash('sha256');
for (const path of sources) hash.update(`${path}\0`).update(readFileSync(join(folder, path)));
// The versions of all packages.
hash.update(readFileSync(join(folder, '..', 'package-lock.json')));
const digest = hash.digest('hex');

if (readMark() !== digest) {
  // A test that builds it has another NODE_ENV, with which React would be built for development.
  const env = { ...process.env, NODE_ENV: 'production' };
  const command = ['--no-install', 'vite', 'build', '--logLevel', 'warn'];
  const { status, stdout, stderr } = spawnSync('npx', command, { cwd: folder, env, encoding: 'utf8' });
  if (status === 0) writeFileSync(mark, digest);
  else {
    process.stderr.write(`${stdout}${stderr}the console was not built; without it, /console answers 503 and everything else works\n`);
    if (!process.argv.includes('--or-without')) process.exitCode = 1;
  }
}

function readMark() {
  try {
    return readFileSync(mark, 'utf8');
  } catch {
    return null;
  }
}

// Installs the dependencies of a tree and builds it. Called by test/measure and by the bench.
// A worktree links to the installed packages of this repository where they match its package-lock.json, which takes no
// time; otherwise it installs its own by `npm ci`.
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { isRecord, type Tree } from './tree.ts';

const locked = 'package-lock.json';

/** Throws with the output of the failed command. */
export async function buildTree(own: string, tree: Tree, cleanup: Pick<Cleanup, 'add'>): Promise<void> {
  if (tree.root !== own) {
    const borrows = existsSync(join(own, 'node_modules')) && satisfies(readLock(own), readLock(tree.root));
    if (borrows) borrowPackages(own, tree);
    // Without install scripts, the embedded database would lack links to its libraries. `prepare` builds.
    else return runNpm(['ci', '--no-audit', '--no-fund', '--no-progress'], tree.root, cleanup);
  }
  await runNpm(['run', '--silent', 'build'], tree.root, cleanup);
}

type Lock = ReadonlyMap<string, string>;

/** The version of every installed package, by its place; the tree's own packages are excluded. */
function readLock(root: string): Lock {
  const lock: unknown = JSON.parse(readFileSync(join(root, locked), 'utf8'));
  const packages = isRecord(lock) && isRecord(lock['packages']) ? lock['packages'] : {};
  return new Map(
    Object.entries(packages).flatMap(([place, one]) =>
      place.includes('node_modules/') && isRecord(one) && one['link'] !== true ? [[place, String(one['integrity'] ?? one['version'])]] : [],
    ),
  );
}

/** Whether all packages that the other needs are installed here, in the same versions and places. */
export const satisfies = (installed: Lock, needed: Lock): boolean => [...needed].every(([place, one]) => installed.get(place) === one);

function borrowPackages(own: string, { root, workspaces }: Tree): void {
  const from = join(own, 'node_modules');
  const to = join(root, 'node_modules');
  const ours = new Map(workspaces.map(({ name, folder }) => [name, folder]));
  mkdirSync(to);
  for (const entry of readdirSync(from)) {
    const isScope = entry.startsWith('@');
    const within = isScope ? readdirSync(join(from, entry)).map((name) => `${entry}/${name}`) : [entry];
    if (isScope) mkdirSync(join(to, entry));
    // A workspace is linked from here, whatever name the other tree uses for its own.
    for (const name of within) if (!isWorkspaceLink(own, join(from, name))) symlinkSync(join(from, name), join(to, name));
  }
  for (const [name, folder] of ours) {
    const [scope] = name.split('/');
    if (name.includes('/')) mkdirSync(join(to, scope ?? ''), { recursive: true });
    symlinkSync(join(root, folder), join(to, name));
  }
}

const isWorkspaceLink = (own: string, path: string): boolean =>
  lstatSync(path).isSymbolicLink() && !relative(realpathSync(own), realpathSync(path)).includes('node_modules');

async function runNpm(args: readonly string[], cwd: string, cleanup: Pick<Cleanup, 'add'>): Promise<void> {
  const child = spawn('npm', [...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-4_000);
    });
  }
  const exit = once(child, 'exit');
  cleanup.add(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await exit;
  });
  const [code] = await exit;
  if (code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${String(code)}:\n${output.trim()}`);
}

// A built checkout whose programs are measured: this one, or that of another commit in a worktree of its own.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Missing } from './missing.ts';
import type { Closing } from './stage.ts';

const run = promisify(execFile);

export interface Tree {
  readonly root: string;
  /** For people: `this tree`, or the commit. */
  readonly name: string;
}

export const thisTree: Tree = { root: fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, ''), name: 'this tree' };

/** The version that the targets compare with. */
export const firstVersion = 'dd0685b';

/** Checks the commit out, installs and builds it; the worktree is removed at the end. Rejects where the commit is not there. */
export async function buildCommit(commit: string, closing: Closing): Promise<Tree> {
  const id = await resolveCommit(commit);
  const root = mkdtempSync(join(tmpdir(), 'tollgate-tree-'));
  closing.push(async () => removeWorktree(root));
  // So that Ctrl-C leaves no worktree behind either.
  process.once('exit', () => removeWorktree(root));
  await run('git', ['worktree', 'add', '--detach', '--force', root, id], { cwd: thisTree.root });
  const lock = (of: string): string => readFileSync(join(of, 'package-lock.json'), 'utf8');
  // The same packages are the same files; links to our own packages are relative, so they stay in the worktree.
  const isSame = lock(root) === lock(thisTree.root);
  const isLinked = isSame && (await run('cp', ['-al', join(thisTree.root, 'node_modules'), root]).then(Boolean, () => false));
  if (isLinked) await run('npx', ['--no-install', 'tsc', '-b'], { cwd: root });
  else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, maxBuffer: 2 ** 26 });
  return { root, name: commit };
}

async function resolveCommit(commit: string): Promise<string> {
  try {
    const { stdout } = await run('git', ['rev-parse', '--verify', '--quiet', `${commit}^{commit}`], { cwd: thisTree.root });
    return stdout.trim();
  } catch (error) {
    throw new Missing(`there is no commit ${commit} in this clone; a shallow clone needs \`git fetch --unshallow\``, { cause: error });
  }
}

function removeWorktree(root: string): void {
  rmSync(root, { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune'], { cwd: thisTree.root, stdio: 'ignore' });
}

/** The program that a package of the tree installs by that name: its path from the tree's root. Null: there is none. */
export function binOf({ root }: Tree, name: string): string | null {
  const packageOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  for (const folder of packageOf('.').workspaces) {
    const path = packageOf(folder).bin?.[name];
    if (path !== undefined) return join(folder, path);
  }
  return null;
}

/** Whether the tree's programs know a variable: an unknown one refuses their start. */
export function knowsVariable({ root }: Tree, name: string): boolean {
  const found = execFileSync('sh', ['-c', 'grep -rlF --include=*.js --exclude-dir=node_modules "$0" "$1"/*/dist | head -1', name, root]);
  return found.length > 0;
}

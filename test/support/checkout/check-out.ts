// Checks out another commit in a temporary worktree, which is removed at the end. Called by test/measure and by the
// bench.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';

/** The full hash of a commit; null: the commit does not exist. */
export function findCommit(root: string, name: string): string | null {
  try {
    return git(root, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]).trim();
  } catch {
    return null;
  }
}

/** Checks out the files of that commit; returns their folder. */
export function checkOut(root: string, commit: string, cleanup: Pick<Cleanup, 'add'>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-checkout-')));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }));
  // The embedded database runs under an account of its own, and may need to read its programs here.
  chmodSync(folder, 0o755);
  const tree = join(folder, 'tree');
  cleanup.add(() => void git(root, ['worktree', 'remove', '--force', tree]));
  git(root, ['worktree', 'add', '--quiet', '--detach', tree, commit]);
  return tree;
}

const git = (root: string, args: readonly string[]): string =>
  execFileSync('git', [...args], { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

// A built checkout whose programs are measured: this one, or another commit in a worktree of its own.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTree } from '../../support/checkout/build.ts';
import { checkOut, findCommit } from '../../support/checkout/check-out.ts';
import { openTree } from '../../support/checkout/tree.ts';
import { Missing } from './missing.ts';
import type { Closing } from './stage.ts';

export interface Tree {
  readonly root: string;
  /** For people: `this tree`, or the commit. */
  readonly name: string;
}

export const thisTree: Tree = { root: fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, ''), name: 'this tree' };

/** The version that the targets compare with. */
export const firstVersion = 'dd0685b';

/** Checks the commit out, installs and builds it; the worktree is removed at the end. Missing where the commit is not there. */
export async function buildCommit(commit: string, closing: Closing): Promise<Tree> {
  const id = findCommit(thisTree.root, commit);
  if (id === null) throw new Missing(`there is no commit ${commit} in this clone; a shallow clone needs \`git fetch --unshallow\``);
  const root = checkOut(thisTree.root, id, closing);
  await buildTree(thisTree.root, openTree(root), closing);
  return { root, name: commit };
}

/**
 * The program that a package of the tree installs under that name: its path from the tree's root. Null: the tree has no
 * such program.
 */
export function binOf({ root }: Tree, name: string): string | null {
  const packageOf = (folder: string) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
  for (const folder of packageOf('.').workspaces) {
    const path = packageOf(folder).bin?.[name];
    if (path !== undefined) return join(folder, path);
  }
  return null;
}

/** Whether the tree's programs accept a variable: an unknown one makes their start fail. */
export function knowsVariable({ root }: Tree, name: string): boolean {
  const found = execFileSync('sh', ['-c', 'grep -rlF --include=*.js --exclude-dir=node_modules "$0" "$1"/*/dist | head -1', name, root]);
  return found.length > 0;
}

// `npm run frozen`: reports which frozen files differ from the code; with `--write` it writes them, and requires a line
// in CHANGELOG.md.
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeDifferences, findDifferences } from './compare.ts';

interface World {
  /** The folder of the frozen files, in a working tree of git. */
  readonly folder: string;
  /** The root of that tree, with CHANGELOG.md. */
  readonly root: string;
  readonly make: () => Promise<ReadonlyMap<string, string>>;
  readonly say: (text: string) => void;
}

const usage =
  'usage: npm run frozen             says which frozen files differ from the code\n       npm run frozen -- --write  writes them\n';

/**
 * 0: no difference, or all documented. 1: files differ, or the CHANGELOG does not mention it. 2: the arguments are
 * invalid.
 */
export async function runFrozen(words: readonly string[], world: World): Promise<0 | 1 | 2> {
  const unknown = words.find((word) => word !== '--write');
  if (unknown !== undefined) {
    world.say(`${JSON.stringify(unknown)} is not an argument of npm run frozen\n${usage}`);
    return 2;
  }
  const made = await world.make();
  if (words.length > 0) return writeFrozen(world, made);
  const differences = findDifferences(world.folder, made);
  world.say(differences.length === 0 ? `${made.size} frozen files are as the code is\n` : describeDifferences(differences));
  return differences.length === 0 ? 0 : 1;
}

function writeFrozen({ folder, root, say }: World, made: ReadonlyMap<string, string>): 0 | 1 {
  const differences = findDifferences(folder, made);
  for (const { file, kind } of differences) {
    const text = made.get(file);
    if (text === undefined) rmSync(join(folder, file));
    else writeFileSync(join(folder, file), text);
    say(`${file} ${kind === 'missing' ? 'is new' : kind === 'extra' ? 'was removed' : 'was changed'}\n`);
  }
  if (differences.length === 0) say(`${made.size} frozen files are as the code is\n`);
  const unsaid = changelogProblem(root, folder);
  if (unsaid !== null) say(`${unsaid}\n`);
  return unsaid === null ? 0 : 1;
}

/** Why CHANGELOG.md does not mention frozen files that differ from HEAD; null where it does, or none differs. */
function changelogProblem(root: string, folder: string): string | null {
  const changed = git(root, 'status', '--porcelain', '--untracked-files=all', '--', join(folder, '*.txt'), join(folder, '*.json'));
  const added = git(root, 'diff', 'HEAD', '--numstat', '--', 'CHANGELOG.md');
  if (changed === null || added === null) return 'git cannot say what changed since HEAD; check that CHANGELOG.md says the change';
  if (changed === '' || Number(added.split('\t')[0]) > 0) return null;
  return 'CHANGELOG.md has no new line for this: add one, in the same commit';
}

function git(root: string, ...words: readonly string[]): string | null {
  const { stdout, status } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout : null;
}

// Checks docs/design/moved.md. For each row the new path exists, the old one does not, and `git log --follow` of the
// new path reaches the old one. Of a folder one file is followed. A list of exports changes most of its lines when it
// moves, hence -M20%. The script ends with code 1 where a row is wrong.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const cwd = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args: readonly string[]): readonly string[] =>
  execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 64 * 1024 ** 2 })
    .split('\n')
    .filter((line) => line !== '');

const rows = [...readFileSync(`${cwd}docs/design/moved.md`, 'utf8').matchAll(/^\| `([^`]+)` \| `([^`]+)` \|$/gm)].map(
  ([, old = '', now = '']) => ({ old, now }),
);
const tracked = git('ls-files');
const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

function problemOf({ old, now }: (typeof rows)[number]): string | null {
  if (tracked.some((path) => isIn(path, old))) return `${old} is still there`;
  const inside = tracked.filter((path) => isIn(path, now));
  if (inside.length === 0) return `${now} is not there`;
  const reached = inside.some((path) =>
    git('log', '--follow', '-M20%', '--format=', '--name-only', '--', path).some((name) => isIn(name, old)),
  );
  return reached ? null : `git log --follow of ${now} does not reach ${old}`;
}

const problems = rows.map(problemOf).filter((problem) => problem !== null);
process.stderr.write(problems.map((problem) => `${problem}\n`).join(''));
process.stdout.write(`moved.md: ${rows.length} rows, ${problems.length} wrong\n`);
process.exitCode = rows.length === 0 || problems.length > 0 ? 1 : 0;

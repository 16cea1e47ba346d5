// Compares frozen files with the texts that are made from the code. Used by the test and by `npm run frozen`.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const frozenFolder = fileURLToPath(new URL('.', import.meta.url));

type Texts = ReadonlyMap<string, string>;

export interface Difference {
  readonly file: string;
  /** `extra`: the code makes no such text. */
  readonly kind: 'changed' | 'missing' | 'extra';
  /** The changes, line by line. */
  readonly diff: string;
}

export const whatToDo = 'run npm run frozen -- --write, and say the change in CHANGELOG.md';

const isFrozen = (name: string): boolean => name.endsWith('.txt') || name.endsWith('.json');

/** The frozen files of a folder, by name. */
export const readFrozen = (folder: string): Texts =>
  new Map(
    readdirSync(folder)
      .filter(isFrozen)
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );

/** By the names of the files. */
export function findDifferences(folder: string, made: Texts): readonly Difference[] {
  const held = readFrozen(folder);
  const names = [...new Set([...held.keys(), ...made.keys()])].toSorted();
  return names.flatMap((file): readonly Difference[] => {
    const [now, frozen] = [made.get(file), held.get(file)];
    if (now === frozen) return [];
    if (frozen === undefined) return [{ file, kind: 'missing', diff: '' }];
    if (now === undefined) return [{ file, kind: 'extra', diff: '' }];
    return [{ file, kind: 'changed', diff: diffText(join(folder, file), now) }];
  });
}

const diffLinesMax = 200;

function diffText(path: string, now: string): string {
  const { stdout, status, error } = spawnSync(
    'git',
    ['diff', '--no-index', '--no-ext-diff', '--no-color', '--unified=2', '--', path, '-'],
    {
      input: now,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (error !== undefined || status !== 1) return `git could not show the difference: ${error?.message ?? `exit code ${status}`}`;
  const lines = stdout.trimEnd().split('\n');
  const body = lines.slice(lines.findIndex((line) => line.startsWith('@@')));
  const rest = body.length - diffLinesMax;
  return [...body.slice(0, diffLinesMax), ...(rest > 0 ? [`… and ${rest} more lines`] : [])].join('\n');
}

const words = {
  changed: 'differs from the code (-: the file, +: the code)',
  missing: 'is missing',
  extra: 'is not made by any code',
} as const;

/** A text for people; empty where nothing differs. */
export function describeDifferences(differences: readonly Difference[]): string {
  if (differences.length === 0) return '';
  const each = differences.map(({ file, kind, diff }) =>
    [`test/frozen/${file} ${words[kind]}`, diff].filter((part) => part !== '').join('\n'),
  );
  return `${each.join('\n')}\n${whatToDo}\n`;
}

// The pages whose blocks are run: README.md, the page of the Python client and those of docs/guide. Called by `main.ts`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, readBlocks } from './blocks.ts';

export interface Page {
  /** Its path from the root of the checkout. */
  readonly name: string;
  readonly blocks: readonly Block[];
}

/** How many blocks of all pages together may be marked `no-run`. */
const noRunMax = 3;

const guide = 'docs/guide';

export const findPages = (root: string): readonly string[] => [
  'README.md',
  'docs/doors/python.md',
  ...readdirSync(join(root, guide))
    .filter((name) => name.endsWith('.md'))
    .toSorted()
    .map((name) => `${guide}/${name}`),
];

interface ReadPages {
  readonly pages: readonly Page[];
  readonly problems: readonly string[];
}

/** `names`: paths from `root`. */
export function readPages(root: string, names: readonly string[]): ReadPages {
  const read = names.map((name) => ({ name, ...readBlocks(name, readFileSync(join(root, name), 'utf8')) }));
  const noRun = read.flatMap(({ name, blocks }) => blocks.filter(({ kind }) => kind === 'no-run').map(({ line }) => ({ name, line })));
  const words = `${noRun.length} blocks are marked no-run, ${noRunMax} at most may be; make this one run`;
  const excess = noRun.slice(noRunMax).map(({ name, line }) => `${name} line ${line - 1}: ${words}`);
  return {
    pages: read.map(({ name, blocks }) => ({ name, blocks })),
    problems: [...read.flatMap(({ problems }) => problems), ...excess],
  };
}

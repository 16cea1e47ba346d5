// Counts the listed words of a tree, tests and documents included: by word, by folder and by file. Called by main.ts.
import { posix } from 'node:path';
import type { Tree } from '../../support/checkout/tree.ts';
import { createRemoveExceptions, type WordException } from './exceptions.ts';
import type { ListedWord } from './list.ts';
import { createFindWords } from './match.ts';
import { type Kind, kinds, listPieces, type Piece } from './texts.ts';

/** The number of occurrences, by kind of text, and in total. */
export type Count = Readonly<Record<Kind | 'all', number>>;

export interface WordCounts {
  readonly all: Count;
  readonly byWord: Readonly<Record<string, Count>>;
  readonly byFolder: Readonly<Record<string, Count>>;
  readonly bySecondLevel: Readonly<Record<string, Count>>;
  /** Files with occurrences, and the number for each word. */
  readonly byFile: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export function countWords(tree: Tree, list: readonly ListedWord[], exceptions: readonly WordException[]): WordCounts {
  const find = createFindWords(list);
  const removeExceptions = createRemoveExceptions(exceptions);
  const [byWord, byFolder, bySecondLevel] = [new Tally(), new Tally(), new Tally()];
  const all = new Tally();
  const byFile: Record<string, Record<string, number>> = {};
  const add = (path: string, pieces: readonly Piece[]): void => {
    for (const { kind, text } of pieces) {
      for (const word of find(removeExceptions(path, text))) {
        all.add('', kind);
        byWord.add(word, kind);
        byFolder.add(path.includes('/') ? (path.split('/')[0] ?? '') : '(root)', kind);
        if (path.includes('/')) bySecondLevel.add(secondLevelOf(path), kind);
        byFile[path] = { ...byFile[path], [word]: (byFile[path]?.[word] ?? 0) + 1 };
      }
    }
  };
  for (const path of tree.files) add(path, listPieces(tree, path));
  for (const folder of listFolders(tree)) add(`${folder}/`, [{ kind: 'fileNames', text: posix.basename(folder) }]);
  return {
    all: all.counts()[''] ?? none,
    byWord: byWord.counts(),
    byFolder: byFolder.counts(),
    bySecondLevel: bySecondLevel.counts(),
    byFile,
  };
}

const secondLevelOf = (path: string): string => {
  const [first, second, ...rest] = path.split('/');
  return rest.length > 0 ? `${first}/${second}` : `${first}/*`;
};

function listFolders(tree: Tree): readonly string[] {
  const folders = new Set<string>();
  for (const path of tree.files) for (let at = posix.dirname(path); at !== '.'; at = posix.dirname(at)) folders.add(at);
  return [...folders].filter((folder) => !folder.split('/').includes('gen'));
}

const none: Count = { all: 0, comments: 0, strings: 0, identifiers: 0, testNames: 0, documents: 0, scripts: 0, texts: 0, fileNames: 0 };

class Tally {
  readonly #counts = new Map<string, Count>();

  add(name: string, kind: Kind): void {
    const count = this.#counts.get(name) ?? none;
    this.#counts.set(name, { ...count, [kind]: count[kind] + 1, all: count.all + 1 });
  }

  /** Sorted, the highest count first. */
  counts(): Readonly<Record<string, Count>> {
    return Object.fromEntries([...this.#counts].toSorted(([, one], [, other]) => other.all - one.all));
  }
}

/** Kinds with occurrences in these counts, in the order of the table. */
export const kindsIn = (count: Count): readonly Kind[] => kinds.filter((kind) => count[kind] > 0);

// All measurements of a tree, as `--json` prints them. Called by main.ts.
import type { Cleanup } from '../support/checkout/cleanup.ts';
import { buildTree } from '../support/checkout/build.ts';
import { measureStructure, type Structure } from './static/structure.ts';
import { openTree } from '../support/checkout/tree.ts';
import { countWords, type WordCounts } from './words/count.ts';
import { readExceptions } from './words/exceptions.ts';
import { readWords } from './words/list.ts';
import { measureWays, type Ways } from './ways/ways.ts';

export interface Measurement {
  /** Its full hash; null: the current files. */
  readonly commit: string | null;
  readonly structure: Structure;
  readonly words: WordCounts;
  /** Null: omitted by `--static`. */
  readonly ways: Ways | null;
}

interface MeasureOptions {
  /** The repository that this tool belongs to. */
  readonly own: string;
  /** The root of the files to measure. */
  readonly root: string;
  readonly commit: string | null;
  readonly staticOnly: boolean;
}

export async function measure({ own, root, commit, staticOnly }: MeasureOptions, cleanup: Cleanup): Promise<Measurement> {
  const tree = openTree(root);
  const figures = { commit, structure: measureStructure(tree), words: countWords(tree, readWords(), readExceptions()) };
  if (staticOnly) return { ...figures, ways: null };
  await buildTree(own, tree, cleanup);
  return { ...figures, ways: await measureWays(tree, cleanup) };
}

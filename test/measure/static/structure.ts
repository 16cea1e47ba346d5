// The static figures of a tree: lines, long functions, folders, small files, cycles. Called by main.ts.
import { posix } from 'node:path';
import { type Cycle, type Edge, findCycles, type Graph } from './cycles.ts';
import { listFunctions, type MeasuredFunction } from './functions.ts';
import { listImports } from './imports.ts';
import { createResolve } from './resolve.ts';
import { countLines, parseSource, type Syntax } from './syntax.ts';
import { productFiles, type Tree } from '../../support/checkout/tree.ts';

export const functionLinesMax = 80;
export const smallLinesMax = 60;

interface SmallFile {
  readonly path: string;
  readonly lines: number;
  readonly importer: string;
}

export interface Structure {
  readonly files: number;
  readonly lines: { readonly all: number; readonly median: number; readonly p90: number; readonly longest: number };
  readonly functions: number;
  /** Over `functionLinesMax` lines, the longest first. */
  readonly longFunctions: readonly MeasuredFunction[];
  /** Every folder with files of its own, the fullest first. */
  readonly folders: readonly { readonly folder: string; readonly files: number }[];
  /** At most `smallLinesMax` lines, and imported by one file only, of the same folder. */
  readonly smallFiles: readonly SmallFile[];
  readonly cycles: readonly Cycle[];
}

export function measureStructure(tree: Tree): Structure {
  const sources = productFiles(tree).map((path) => parseSource(path, tree.read(path)));
  const lines = new Map(sources.map(({ path, text }) => [path, countLines(text)]));
  const sorted = [...lines.values()].toSorted((one, other) => one - other);
  const functions = sources.flatMap(listFunctions);
  const graph = readGraph(tree, sources);
  return {
    files: sources.length,
    lines: {
      all: sorted.reduce((sum, one) => sum + one, 0),
      median: rank(sorted, 0.5),
      p90: rank(sorted, 0.9),
      longest: sorted.at(-1) ?? 0,
    },
    functions: functions.length,
    longFunctions: functions.filter((one) => one.lines > functionLinesMax).toSorted((one, other) => other.lines - one.lines),
    folders: countFolders([...lines.keys()]),
    smallFiles: findSmallFiles(lines, graph),
    cycles: findCycles(graph),
  };
}

/** The value that at least this share of all values does not exceed. */
const rank = (sorted: readonly number[], share: number): number => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;

function readGraph(tree: Tree, sources: readonly Syntax[]): Graph {
  const resolve = createResolve(tree);
  const product = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map((source) => {
      const edges = listImports(source).flatMap(({ from, typesOnly }): readonly Edge[] => {
        const to = resolve(source.path, from);
        return to !== null && product.has(to) ? [{ to, typesOnly }] : [];
      });
      return [source.path, edges];
    }),
  );
}

function countFolders(paths: readonly string[]): Structure['folders'] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts]
    .map(([folder, files]) => ({ folder, files }))
    .toSorted((one, other) => other.files - one.files || one.folder.localeCompare(other.folder));
}

function findSmallFiles(lines: ReadonlyMap<string, number>, graph: Graph): readonly SmallFile[] {
  const importers = new Map<string, Set<string>>();
  for (const [importer, edges] of graph)
    for (const { to } of edges) if (to !== importer) importers.set(to, (importers.get(to) ?? new Set()).add(importer));
  return [...lines].flatMap(([path, count]) => {
    const [importer, ...others] = importers.get(path) ?? [];
    if (count > smallLinesMax || importer === undefined || others.length > 0) return [];
    return posix.dirname(importer) === posix.dirname(path) ? [{ path, lines: count, importer }] : [];
  });
}

// `npm run bench -- <names> --against <commit>`: builds that commit in a worktree, runs both trees in turn, five pairs, and prints the
// median ratio of each figure, above 1 where this tree is slower or larger. "No slower" is a median of at most 1.05. The parts of
// `side` measure the programs of either tree by this tree's code; the other benches reach into the sources, so each tree runs its own.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median } from './measure.ts';
import { lookAtOthers, othersCoresMax } from './side/others.ts';
import { withClosing } from './side/stage.ts';
import { buildCommit, type Tree, thisTree } from './side/tree.ts';

const run = promisify(execFile);
const pairs = 5;
const ratioMax = 1.05;

/** A figure as a bench prints it. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface Compared {
  readonly name: string;
  readonly unit: string;
  readonly here: number;
  readonly there: number;
  /** Null: not a number above zero on both sides. */
  readonly ratio: number | null;
}

/** Answers the exit code: 1 where a figure is slower, or nothing could be compared. */
export async function compareTrees(names: readonly string[], commit: string): Promise<number> {
  const others = await lookAtOthers();
  if (others.cores > othersCoresMax) {
    console.log(`# not measured: other processes take ${others.cores.toFixed(2)} of a core: ${others.names}`);
    return 1;
  }
  return withClosing(async (closing) => {
    const there = await buildCommit(commit, closing);
    const seen: { readonly here: readonly Figure[]; readonly there: readonly Figure[] }[] = [];
    for (let pair = 1; pair <= pairs; pair += 1) {
      // Which tree begins changes, so that neither always has the colder machine.
      const order = pair % 2 === 1 ? [thisTree, there] : [there, thisTree];
      const figures = new Map<Tree, readonly Figure[]>();
      for (const tree of order) figures.set(tree, await figuresOf(tree, names));
      seen.push({ here: figures.get(thisTree) ?? [], there: figures.get(there) ?? [] });
      console.log(`# pair ${pair} of ${pairs} is done`);
    }
    return report(compareFigures(seen), commit);
  });
}

async function figuresOf(tree: Tree, names: readonly string[]): Promise<readonly Figure[]> {
  const side = names.filter((name) => name.startsWith('side'));
  const own = names.filter((name) => !name.startsWith('side'));
  const figures: Figure[] = [];
  if (side.length > 0) figures.push(...(await benched(thisTree, [...side, '--alone', '--rounds', '1', '--tree', tree.root])));
  if (own.length > 0) figures.push(...(await benched(tree, own)));
  return figures;
}

async function benched({ root, name }: Tree, args: readonly string[]): Promise<readonly Figure[]> {
  const { stdout } = await run(process.execPath, ['--import', 'tsx', 'test/bench/main.ts', ...args], {
    cwd: root,
    maxBuffer: 2 ** 26,
  }).catch((error: unknown) => {
    throw new Error(`the bench of ${name} failed`, { cause: error });
  });
  return figuresIn(stdout);
}

/** The lines of JSON that name a figure. */
export function figuresIn(text: string): readonly Figure[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ value }) => typeof value === 'number');
}

/** More of it is better: something in a time, or calls that were admitted. */
const isRate = (unit: string): boolean => unit.includes('/s') || unit.includes('admitted');

/** Figures that both trees have, by the median of the pairs. */
export function compareFigures(
  seen: readonly { readonly here: readonly Figure[]; readonly there: readonly Figure[] }[],
): readonly Compared[] {
  const valuesOf = (name: string, side: 'here' | 'there'): readonly number[] =>
    seen.map((pair) => pair[side].find((figure) => figure.name === name)?.value ?? Number.NaN);
  return (seen[0]?.here ?? []).flatMap(({ name, unit }) => {
    const [here, there] = [valuesOf(name, 'here'), valuesOf(name, 'there')];
    if ([...here, ...there].some(Number.isNaN)) return [];
    const ratios = here.map((value, at) => (isRate(unit) ? (there[at] ?? 0) / value : value / (there[at] ?? 0)));
    const isComparable = [...here, ...there].every((value) => value > 0);
    return [{ name, unit, here: median(here), there: median(there), ratio: isComparable ? median(ratios) : null }];
  });
}

function report(compared: readonly Compared[], commit: string): number {
  for (const line of compared) console.log(JSON.stringify({ ...line, ok: line.ratio === null || line.ratio <= ratioMax }));
  if (compared.length === 0) {
    console.log(`# nothing was compared: ${commit} has none of these figures`);
    return 1;
  }
  const slower = compared.filter(({ ratio }) => ratio !== null && ratio > ratioMax);
  console.log(
    slower.length === 0
      ? `# no slower than ${commit}: every median ratio is at most ${ratioMax}`
      : `# slower than ${commit}: ${slower.map(({ name, ratio }) => `${name} (${ratio?.toFixed(2)})`).join('; ')}`,
  );
  return slower.length === 0 ? 0 : 1;
}

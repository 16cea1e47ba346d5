// `npm run bench -- <names> --against <commit> [--pairs <n>]`: builds that commit in a worktree and runs both trees in
// turn, five pairs if not told otherwise. It prints the median ratio of each figure, above 1 where this tree is slower
// or larger. "No slower" is a median of at most 1.05. The parts of `side` measure the programs of both trees by this
// tree's code. The other benches import the sources, so each tree runs its own.
import { spawn } from 'node:child_process';
import { median } from './measure.ts';
import { measuredAlone } from './side/compare.ts';
import { othersCoresMax, watchOthers } from './side/others.ts';
import { withClosing } from './side/stage.ts';
import { buildCommit, type Tree, thisTree } from './side/tree.ts';

const ratioMax = 1.05;

/** A figure as a bench prints it. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

export interface BenchComparison {
  readonly name: string;
  readonly unit: string;
  readonly here: number;
  readonly there: number;
  /** Above 1: this tree is slower, or uses more. */
  readonly ratio: number;
}

export interface Pair {
  readonly here: readonly Figure[];
  readonly there: readonly Figure[];
}

/** Returns the exit code: 1 where a figure is slower, or could not be compared. */
export async function compareTrees(names: readonly string[], commit: string, pairs: number): Promise<number> {
  return withClosing(async (closing) => {
    const there = await buildCommit(commit, closing);
    const seen: Pair[] = [];
    for (let pair = 1; pair <= pairs; pair += 1) {
      // The tree that begins alternates, so that no tree always has the colder machine.
      const order = pair % 2 === 1 ? [thisTree, there] : [there, thisTree];
      const figures = new Map<Tree, readonly Figure[]>();
      for (const tree of order) figures.set(tree, await undisturbed(() => figuresOf(tree, names)));
      seen.push({ here: figures.get(thisTree) ?? [], there: figures.get(there) ?? [] });
      console.log(`# pair ${pair} of ${pairs} is done`);
    }
    return report(compareFigures(seen), namesOf(seen), commit);
  });
}

/** Measures once more where other processes disturbed the figures, and gives up after the third time. */
async function undisturbed(work: () => Promise<readonly Figure[]>): Promise<readonly Figure[]> {
  for (let tries = 1; ; tries += 1) {
    const watched = watchOthers();
    const figures = await work();
    const others = watched();
    if (others.cores <= othersCoresMax) return figures;
    const what = `other processes took ${others.cores.toFixed(2)} of a core, and at most ${othersCoresMax} may be taken: ${others.names}`;
    console.log(`# disturbed: ${what}`);
    if (tries === 3) throw new Error(what);
  }
}

async function figuresOf(tree: Tree, names: readonly string[]): Promise<readonly Figure[]> {
  const side = names.filter((name) => name.startsWith('side'));
  const own = names.filter((name) => !name.startsWith('side'));
  const figures: Figure[] = [];
  if (side.length > 0)
    figures.push(...(await benched(thisTree, [...side, '--alone', '--rounds', '1', '--starts', '1', '--tree', tree.root])));
  if (own.length > 0) figures.push(...(await benched(tree, own)));
  return figures;
}

/** Returns the figures of one bench; a part that it could not measure has none, and is missing from the pair. */
async function benched({ root, name }: Tree, args: readonly string[]): Promise<readonly Figure[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/bench/main.ts', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  const code = await new Promise<number | null>((done, fail) => child.once('close', done).once('error', fail));
  if (code !== 0 && code !== 1) throw new Error(`the bench of ${name} ended with ${code}: ${text.slice(-1_000)}`);
  for (const line of text.split('\n')) if (line.startsWith('# not measured')) console.log(`# ${name}: ${line.slice(2)}`);
  return figuresIn(text);
}

/**
 * Returns the figures of the lines of JSON. Rows for orientation, which have no target, are left out: they measure as few
 * calls as the slow program next to them allows, and the first calls after it are slower by chance. Rows that were
 * measured alone have no target either, because there is nothing to compare them with but the other tree.
 */
export function figuresIn(text: string): readonly Figure[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ value, target, baseline }) => typeof value === 'number' && (target != null || baseline === measuredAlone));
}

/** A higher figure is better: a rate, or calls that were admitted. */
const isRate = (unit: string): boolean => unit.includes('/s') || unit.includes('admitted');

/** Figures that both trees have in every pair, by the median of the pairs. */
export function compareFigures(seen: readonly Pair[]): readonly BenchComparison[] {
  const valuesOf = (name: string, side: keyof Pair): readonly number[] =>
    seen.map((pair) => pair[side].find((figure) => figure.name === name)?.value ?? Number.NaN);
  return (seen[0]?.here ?? []).flatMap(({ name, unit }) => {
    const [here, there] = [valuesOf(name, 'here'), valuesOf(name, 'there')];
    if ([...here, ...there].some(Number.isNaN)) return [];
    const ratios = here.map((value, at) => (isRate(unit) ? ratioOf(there[at] ?? 0, value) : ratioOf(value, there[at] ?? 0)));
    return [{ name, unit, here: median(here), there: median(there), ratio: median(ratios) }];
  });
}

/** A value below zero, such as memory that was freed, counts as zero; zero against zero is the same. */
function ratioOf(worse: number, better: number): number {
  const [above, below] = [Math.max(0, worse), Math.max(0, better)];
  return above === below ? 1 : above / below;
}

/** Every figure that any run had, and on which side. */
function namesOf(seen: readonly Pair[]): ReadonlyMap<string, ReadonlySet<keyof Pair>> {
  const sides = new Map<string, Set<keyof Pair>>();
  for (const pair of seen)
    for (const side of ['here', 'there'] as const)
      for (const { name } of pair[side]) sides.set(name, (sides.get(name) ?? new Set()).add(side));
  return sides;
}

function report(compared: readonly BenchComparison[], names: ReturnType<typeof namesOf>, commit: string): number {
  for (const line of compared) console.log(JSON.stringify({ ...line, ok: line.ratio <= ratioMax }));
  const isCompared = new Set(compared.map(({ name }) => name));
  const left = [...names].filter(([name]) => !isCompared.has(name));
  // A figure that is new here has no counterpart to compare with.
  const fresh = left.filter(([, sides]) => !sides.has('there')).map(([name]) => name);
  const lost = left.filter(([, sides]) => sides.has('there')).map(([name]) => name);
  if (fresh.length > 0) console.log(`# only in this tree: ${fresh.join('; ')}`);
  if (lost.length > 0) console.log(`# not compared, since a run lacks them: ${lost.join('; ')}`);
  const slower = compared.filter(({ ratio }) => ratio > ratioMax);
  if (slower.length > 0)
    console.log(`# slower than ${commit}: ${slower.map(({ name, ratio }) => `${name} (${ratio.toFixed(2)})`).join('; ')}`);
  if (compared.length === 0) console.log(`# nothing was compared with ${commit}`);
  const isWhole = compared.length > 0 && lost.length === 0;
  if (isWhole && slower.length === 0) console.log(`# no slower than ${commit}: every median ratio is at most ${ratioMax}`);
  return isWhole && slower.length === 0 ? 0 : 1;
}

// `npm run bench [-- name …] [--write] [--twice] [--against <commit> [--pairs <n>]]`: measures what the targets define,
// prints one JSON line for each result as it arrives, and reports which fall short. `redact` and `side` select all of
// their parts. `--write` puts the results into docs/design/performance.md. `--twice` measures each a second time,
// directly after the first, and fails where a ratio differs by 10 % or more. `--against` compares this tree with another
// commit: see against.ts. Imported packages are the built ones, as users have them. Ends with 1 where something was not
// measured, and with 2 where the arguments are wrong.
import { parseArgs } from 'node:util';
import { compareTrees } from './against.ts';
import { benchAgents } from './agents.ts';
import { benchAudit } from './audit.ts';
import { benchConditions } from './conditions.ts';
import { benchConsole } from './console.ts';
import { benchDecide } from './decide.ts';
import { benchDeltas } from './deltas.ts';
import { benchFanout } from './fanout.ts';
import { benchFootprint } from './footprint.ts';
import { benchGovern } from './govern.ts';
import { benchHooks } from './hooks.ts';
import { isMeasured, middleOf, type Result, type Row } from './measure.ts';
import { benchProxies } from './proxies.ts';
import { benchPython } from './python.ts';
import { benchRedactQuality, benchRedactSpeed } from './redact.ts';
import { benchWorst } from './redact-worst.ts';
import { machine, writeSeen } from './report.ts';
import { versions } from './side/contenders.ts';
import { Missing } from './side/missing.ts';
import { lookAtOthers, type Others, othersCoresMax, watchOthers } from './side/others.ts';
import { type SideOptions, sideBenches, startedOften } from './side/side.ts';
import { thisTree } from './side/tree.ts';
import { benchStarts } from './starts.ts';
import { differencesOf } from './twice.ts';

type Bench = (options: SideOptions) => Promise<readonly Row[]> | AsyncIterable<Row> | Iterable<Row>;

const benches: Readonly<Record<string, Bench>> = {
  decide: benchDecide,
  govern: benchGovern,
  conditions: benchConditions,
  hooks: benchHooks,
  proxies: benchProxies,
  python: benchPython,
  deltas: benchDeltas,
  fanout: benchFanout,
  footprint: benchFootprint,
  starts: benchStarts,
  audit: benchAudit,
  agents: benchAgents,
  console: benchConsole,
  // Scores the held-out rows: use it once, when the detectors are finished.
  'redact-quality': benchRedactQuality,
  'redact-speed': benchRedactSpeed,
  'redact-worst': benchWorst,
  ...sideBenches,
};

interface BenchResults {
  readonly results: ReadonlyMap<string, readonly Result[]>;
  readonly missing: readonly string[];
}

/** How often a disturbed part of `side` is measured. */
const triesMax = 3;

const nothing: BenchResults = { results: new Map(), missing: [] };

const { values: options, positionals: asked } = parseOptions();
const isAsked = (name: string, of: string): boolean => name === of || name.startsWith(`${of}-`);
const names = Object.keys(benches).filter((name) => asked.length === 0 || asked.some((of) => isAsked(name, of)));
const unknown = asked.filter((of) => !Object.keys(benches).some((name) => isAsked(name, of)));
for (const name of ['rounds', 'starts', 'pairs'] as const)
  if (!/^[1-9]\d*$/.test(options[name])) refuse(`--${name} is a whole number of at least 1, and ${options[name]} is not`);
if (unknown.length > 0)
  refuse(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}, and side and redact for their parts`);

console.log(`# ${machine()}; ${versions()}`);
process.exit(options.against === undefined ? await measureAll() : await compareTrees(names, options.against, Number(options.pairs)));

function parseOptions() {
  const flag = { type: 'boolean', default: false } as const;
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        write: flag,
        twice: flag,
        against: text,
        // More of them where the figures of one process after another differ widely.
        pairs: { type: 'string', default: '5' },
        // Set for the processes that `--against` starts.
        alone: flag,
        tree: text,
        rounds: { type: 'string', default: '3' },
        starts: { type: 'string', default: '3' },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}

/** Returns the exit code. */
async function measureAll(): Promise<number> {
  const side: SideOptions = {
    tree: options.tree === undefined ? thisTree : { root: options.tree, name: options.tree },
    rounds: Number(options.rounds),
    starts: Number(options.starts),
    alone: options.alone,
  };
  const [first = nothing, again = null] = await measureTimes(options.twice ? 2 : 1, side);
  const differences = again === null ? [] : differencesOf([...first.results.values()].flat(), [...again.results.values()].flat());
  if (options.write) for (const [name, results] of first.results) writeSeen(name, results, again?.results.get(name) ?? null);
  const short = [first, again].flatMap((seen) => [...(seen?.results.values() ?? [])].flat()).filter(({ ok }) => !ok);
  console.log(
    short.length === 0
      ? '# every target that was measured is met'
      : `# short of target: ${short.map(({ name, ratio, target }) => `${name} (${ratio}, wanted ${target})`).join('; ')}`,
  );
  for (const difference of differences) console.log(`# differs by 10 % or more: ${difference}`);
  const missing = [...first.missing, ...(again?.missing ?? [])];
  for (const what of missing) console.log(`# not measured: ${what}`);
  return missing.length === 0 && differences.length === 0 ? 0 : 1;
}

/**
 * Repeats each bench the given number of times, one run directly after the other, so that other load of the machine is
 * nearly the same for all of them.
 */
async function measureTimes(times: number, side: SideOptions): Promise<readonly BenchResults[]> {
  const runs = Array.from({ length: times }, () => ({ results: new Map<string, readonly Result[]>(), missing: new Array<string>() }));
  const wantsQuiet = names.some((name) => name in sideBenches);
  const others = wantsQuiet ? await lookAtOthers() : null;
  if (others !== null && others.cores > othersCoresMax) return [{ ...nothing, missing: [`anything: ${wordsOf(others)}`] }];
  for (const name of names)
    for (const { results, missing } of runs) {
      const rows = await measureBench(name, side);
      missing.push(...rows.flatMap((row) => (isMeasured(row) ? [] : [`${row.name}: ${row.notMeasured}`])));
      const measured = rows.filter(isMeasured);
      // A table with only some of its rows would look complete.
      if (measured.length === rows.length) results.set(name, measured);
    }
  return runs;
}

function wordsOf({ cores, names: who }: Others): string {
  return `other processes take ${cores.toFixed(2)} of a core, and at most ${othersCoresMax} may be taken: ${who}`;
}

/**
 * Returns its rows and prints each. Rows of `side` are printed once it is known that no other process disturbed them;
 * a disturbed part is measured again, three times at most.
 */
async function measureBench(name: string, side: SideOptions): Promise<readonly Row[]> {
  if (!(name in sideBenches)) return rowsOf(name, side, print);
  for (let tries = 1; ; tries += 1) {
    const watched = watchOthers();
    const runs: (readonly Row[])[] = [];
    for (let start = 0; start < (startedOften.has(name) ? side.starts : 1); start += 1)
      runs.push(await rowsOf(name, side, () => undefined));
    const others = watched();
    const isQuiet = others.cores <= othersCoresMax;
    if (!isQuiet) console.log(`# disturbed: ${name}: ${wordsOf(others)}`);
    if (!isQuiet && tries < triesMax) continue;
    const measured = runs.length === 1 ? (runs[0] ?? []) : middleOf(runs);
    const rows = isQuiet ? measured : [{ name, notMeasured: wordsOf(others) }];
    rows.forEach(print);
    return rows;
  }
}

async function rowsOf(name: string, side: SideOptions, onRow: (row: Row) => void): Promise<readonly Row[]> {
  const rows: Row[] = [];
  try {
    for await (const row of (await benches[name]?.(side)) ?? []) {
      rows.push(row);
      onRow(row);
    }
  } catch (error) {
    // The other parts continue.
    if (!(error instanceof Missing)) console.error(error);
    rows.push({ name, notMeasured: error instanceof Error ? error.message : String(error) });
  }
  return rows;
}

function print(row: Row): void {
  if (!isMeasured(row)) return console.log(JSON.stringify(row));
  const { bound: _bound, ...line } = row;
  console.log(JSON.stringify(line));
}

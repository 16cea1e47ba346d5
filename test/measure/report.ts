// The measurements as text of at most 100 columns. Called by main.ts, which prints it.
import { functionLinesMax, type Structure, smallLinesMax } from './static/structure.ts';
import { productDefinition } from '../support/checkout/tree.ts';
import type { Measurement } from './measured.ts';
import { type Count, kindsIn, type WordCounts } from './words/count.ts';
import { type Kind, kindsDefinition } from './words/texts.ts';
import type { Way, WayName, Ways } from './ways/ways.ts';

const columns = 100;
const rowsMax = 25;

export function formatReport({ commit, structure, words, ways }: Measurement): string {
  const sections = [
    wrap(`Measurement: ${commit === null ? 'the files as they are now' : `commit ${commit}`}.`),
    ...formatStructure(structure),
    ...(ways === null ? [] : [formatWays(ways)]),
    ...formatWords(words),
  ];
  return `${sections.join('\n\n')}\n`;
}

function formatStructure(structure: Structure): readonly string[] {
  const { files, lines, functions, longFunctions, folders, smallFiles, cycles } = structure;
  return [
    `SOURCES\n${wrap(`Counted: ${productDefinition}.`)}`,
    table([
      ['files', number(files)],
      ['lines', number(lines.all)],
      ['lines of a file: median', number(lines.median)],
      ['lines of a file: 90th percentile', number(lines.p90)],
      ['lines of a file: longest', number(lines.longest)],
      ['functions', number(functions)],
      [`functions over ${functionLinesMax} lines`, number(longFunctions.length)],
      ['folders with files', number(folders.length)],
      [`files of at most ${smallLinesMax} lines, imported once, from their folder`, number(smallFiles.length)],
      ['import cycles, of types included', number(cycles.length)],
    ]),
    section(
      `FUNCTIONS OVER ${functionLinesMax} LINES`,
      longFunctions.map(({ name, path, line, lines: count }) => [number(count), name, `${path}:${line}`]),
    ),
    section(
      'FILES IN A FOLDER',
      folders.map(({ folder, files: count }) => [number(count), folder]),
    ),
    section(
      `FILES OF AT MOST ${smallLinesMax} LINES, IMPORTED ONCE, FROM THEIR FOLDER`,
      smallFiles.map(({ path, lines: count, importer }) => [number(count), path, `by ${importer.split('/').at(-1) ?? ''}`]),
    ),
    `IMPORT CYCLES\n${cycles.length === 0 ? 'none' : cycles.map(formatCycle).join('\n')}`,
  ];
}

const formatCycle = ({ files, example, typesOnly }: Structure['cycles'][number]): string =>
  [
    `${files.length} files${typesOnly ? ', by imports of types only' : ''}, such as`,
    ...example.map((file, at) => `  ${at === 0 ? '  ' : '→ '}${file}`),
  ].join('\n');

const wayTitles: Readonly<Record<WayName, string>> = {
  library: 'a governed call, library',
  hookDoor: 'a governed call, hook door',
  policyChange: 'a policy change',
  entry: 'an entry',
  run: 'a run',
};

function formatWays(ways: Ways): string {
  const definition =
    'Files with a function that ran for each operation, in the built programs, warmed up, background work left out. Definitions: test/measure/ways/ways.ts.';
  const rows = Object.entries(wayTitles).map(([name, title]) => [title, ...cellsOf(ways[name as WayName])]);
  const { library, hookDoor } = ways;
  const more = library.measured && hookDoor.measured ? hookDoor.files.filter((file) => !library.files.includes(file)).length : null;
  const notes = more === null ? [] : [`Files of the hook door that the library does not pass: ${more}.`];
  const failed = Object.entries(wayTitles).flatMap(([name, title]) => {
    const way = ways[name as WayName];
    return way.measured ? [] : [`${title} was not measured: ${way.reason}`];
  });
  return [`FILES PASSED`, wrap(definition), table(rows), ...notes, ...failed].join('\n');
}

function cellsOf(way: Way): readonly string[] {
  if (!way.measured) return ['-', 'not measured'];
  const programs = Object.entries(way.byProgram).map(([program, files]) => `${program}: ${files.length}`);
  return [number(way.files.length), programs.join(', ')];
}

const kindTitles: Readonly<Record<Kind, string>> = {
  comments: 'comments',
  strings: 'strings',
  identifiers: 'identifiers',
  testNames: 'tests',
  documents: 'docs',
  scripts: 'scripts',
  texts: 'texts',
  fileNames: 'names',
};

function formatWords({ all, byWord, byFolder, bySecondLevel }: WordCounts): readonly string[] {
  const shown = kindsIn(all);
  const rowsOf = (counts: Readonly<Record<string, Count>>) => [
    ['', 'all', ...shown.map((kind) => kindTitles[kind])],
    ...Object.entries(counts).map(([name, count]) => [name, number(count.all), ...shown.map((kind) => number(count[kind]))]),
  ];
  return [
    `WORDS\n${wrap(`Counted: the words of test/measure/words/words.yaml in all files, tests included. ${upperFirst(kindsDefinition)}`)}`,
    section('WORDS BY FOLDER', [...rowsOf(byFolder), ...rowsOf({ 'all of them': all }).slice(1)]),
    section('WORDS BY FOLDER OF THE SECOND LEVEL', rowsOf(bySecondLevel)),
    `WORDS ONE BY ONE\n${table(rowsOf(byWord))}`,
  ];
}

const upperFirst = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
const number = (value: number): string => value.toLocaleString('en');

function section(title: string, rows: readonly (readonly string[])[]): string {
  const left = rows.length - rowsMax;
  const shown = left > 0 ? rows.slice(0, rowsMax) : rows;
  return [title, rows.length === 0 ? 'none' : table(shown), ...(left > 0 ? [`… and ${left} more (--json lists all)`] : [])].join('\n');
}

/** Columns of one width each; numbers are aligned to the right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  const isNumbers = widths.map((_, at) =>
    rows.every((row, line) => /^[\d,.-]*$/.test(row[at] ?? '') || (line === 0 && rows.length > 1 && at > 0)),
  );
  return rows
    .map((row) =>
      row.map((cell, at) => (isNumbers[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('  '),
    )
    .map((line) => `  ${line}`.trimEnd())
    .map((line) => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line))
    .join('\n');
}

function wrap(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.join('\n');
}

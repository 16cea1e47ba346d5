// The contracts that users rely on match their frozen files, and a change of any of them is detected.
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { cliVariables } from '../../cli/api/connect.ts';
import { temporaryFolder } from '../support/spools.ts';
import { describeDifferences, findDifferences, frozenFolder, readFrozen, whatToDo } from './compare.ts';
import { makeContracts } from './contracts.ts';
import { variablesOfCli } from './made/environment.ts';
import { writtenFields } from './made/entry-fields.ts';
import { metricNames, metricsInSources } from './made/metrics.ts';
import { sectionOf } from './made/proto.ts';

const frozen = readFrozen(frozenFolder);
const files = [...frozen.keys()];

let made: ReadonlyMap<string, string>;
beforeAll(async () => {
  made = await makeContracts();
});

test('the contracts that users rely on match the frozen files', () => {
  const differences = findDifferences(frozenFolder, made);
  if (differences.length > 0) expect.fail(describeDifferences(differences));
});

/** A folder with the frozen files, where `text` replaces one of them. */
function planted(file: string, text: string): string {
  const folder = temporaryFolder();
  for (const name of files) cpSync(join(frozenFolder, name), join(folder, name));
  writeFileSync(join(folder, file), text);
  return folder;
}

const plant = 'a line that no code makes';
const plants: readonly (readonly [string, (lines: readonly string[], at: number) => readonly string[]])[] = [
  ['removed', (lines, at) => lines.toSpliced(at, 1)],
  ['added', (lines, at) => lines.toSpliced(at, 0, plant)],
  ['changed', (lines, at) => lines.with(at, `${lines[at]} ${plant}`)],
];

test.each(files.flatMap((file) => plants.map(([change, alter]) => ({ file, change, alter }))))(
  'a line $change in $file is detected at every position, and shown',
  ({ file, change, alter }) => {
    const lines = (frozen.get(file) ?? '').split('\n');
    const last = lines.findLastIndex((line) => line !== '');
    expect(last).toBeGreaterThan(5);
    for (const at of [0, Math.floor(last / 2), last]) {
      const differences = findDifferences(planted(file, alter(lines, at).join('\n')), made);
      expect(differences).toEqual([{ file, kind: 'changed', diff: expect.any(String) }]);
      const shown = describeDifferences(differences);
      const line = change === 'added' ? `-${plant}` : `+${lines[at]}`;
      expect(shown.split('\n')).toContain(line);
      expect(shown).toContain(`test/frozen/${file} differs`);
      expect(shown).toContain(whatToDo);
    }
  },
);

test.each(files)('%s is reported where it is missing', (file) => {
  const folder = planted(file, '');
  rmSync(join(folder, file));
  expect(findDifferences(folder, made)).toEqual([{ file, kind: 'missing', diff: '' }]);
});

test('a file that no code makes is reported', () => {
  const differences = findDifferences(planted('more.txt', 'words\n'), made);
  expect(differences).toEqual([{ file: 'more.txt', kind: 'extra', diff: '' }]);
  expect(describeDifferences(differences)).toContain('test/frozen/more.txt is not made by any code');
});

test('a difference of many lines is shown in part', () => {
  const shown = describeDifferences(findDifferences(planted('openapi.json', '{}\n'), made)).split('\n');
  expect(shown.length).toBeLessThan(210);
  expect(shown).toContainEqual(expect.stringMatching(/^… and \d+ more lines$/));
});

test('metrics of both programs are those of docs/reference/metrics.md', () => {
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const documented = [...page.matchAll(/^\| `(tollgate_\w+)` +\|/gm)].map(([, name = '']) => name);
  const exported = (made.get('metrics.txt') ?? '').split('\n').filter((line) => line.startsWith('tollgate_'));
  expect(exported.map((line) => line.replace(/ .*/, '')).toSorted()).toEqual(documented.toSorted());
});

test('the command line lists exactly the variables that it reads', () => {
  expect(variablesOfCli().toSorted()).toEqual(cliVariables.toSorted());
});

test('every metric that a source of the programs names is frozen', () => {
  const exported = new Set((made.get('metrics.txt') ?? '').split('\n').map((line) => line.replace(/ .*/, '')));
  const named = metricsInSources();
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter(({ name }) => !exported.has(name))).toEqual([]);
});

test('the names of metrics are read from their sources; one that cannot be read is an error', () => {
  const from = "import { Counter, Gauge } from 'prom-client';\n";
  expect(
    metricNames('a.ts', `${from}new Counter({\n  name: 'one', help });\nnew Gauge<'x'>({ name, help });\ngauge('tollgate_two');`),
  ).toEqual(['one', 'tollgate_two']);
  expect(() => metricNames('a.ts', `${from}new Gauge({ name: \`tollgate_\${x}\`, help });`)).toThrow(
    'a.ts: the name of a metric cannot be read',
  );
  expect(metricNames('a.ts', "const cookie = 'tollgate_sign_in';")).toEqual([]);
});

test('buckets of histograms are frozen', () => {
  const lines = (made.get('metrics.txt') ?? '').split('\n').filter((line) => line.split(' ')[1] === 'histogram');
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(line).toMatch(/ le=[\d.]+(?:,[\d.]+)+$/);
});

test('every field that a sidecar writes is documented by REST', () => {
  const [written = '', answered = ''] = (made.get('entry-fields.txt') ?? '').split('\n\n');
  const names = (section: string): readonly string[] =>
    section
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .map((line) => line.split(': ')[0]?.replaceAll(/\?|\[\]/g, '') ?? '');
  expect(names(written).length).toBeGreaterThan(30);
  expect(names(answered)).toEqual(expect.arrayContaining([...names(written)]));
});

test('numbers and names that a message or an enum reserves are frozen too', () => {
  const lines = sectionOf({
    name: 'a.proto',
    package: 'a',
    messageType: [{ name: 'M', reservedRange: [{ start: 2, end: 4 }], reservedName: ['old'] }],
    enumType: [{ name: 'E', value: [{ name: 'ZERO', number: 0 }], reservedRange: [{ start: 5, end: 5 }] }],
  }).lines;
  expect(lines).toEqual([
    'message a.M',
    'message a.M reserved 2 to 3',
    'message a.M reserved old',
    'enum a.E =   0 ZERO',
    'enum a.E reserved 5 to 5',
  ]);
});

test('the fields of an interface are read with those of the interfaces that it names; an unreadable one is an error', () => {
  const source =
    'export interface Inner {\n  /** A comment; with readonly words: in it. */\n  readonly b?: string;\n}\n' +
    'export interface Outer {\n  readonly a: { readonly x: number; readonly y?: 1 };\n  readonly list: readonly Inner[];\n}\n';
  expect(writtenFields(source, 'Outer')).toEqual(['a.x: number', 'a.y?: 1', 'list[].b?: string']);
  expect(() => writtenFields(source, 'Other')).toThrow('there is no exported interface Other');
  expect(() => writtenFields('export interface A {\n  b: string;\n}\n', 'A')).toThrow('a field of A cannot be read: b: string;');
});

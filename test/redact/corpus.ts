// Reads the labelled rows of test/cases/redact, on which redaction is scored. All problems are reported together, with
// file and line and without a row's text: developers of detectors must not see the held-out part.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, isRedactionKind, type RedactionKind } from '@tollgate/proto/contract';

interface Case {
  readonly id: string;
  /** Where such a text occurs: prose, code, a header. */
  readonly in: string;
  readonly text: string;
  /** The row had a `value`. `text` is that value as JSON. */
  readonly isJson: boolean;
}

/**
 * Kinds that rows are labelled with and that no detector looks for yet. A kind leaves this list when it is added to
 * `redactionKinds`; a test says so.
 */
export const awaitedKinds = ['birth_date', 'person_name', 'postal_address'] as const;
export type RowKind = RedactionKind | (typeof awaitedKinds)[number];

/** None of `values` may survive redaction. */
export interface Positive extends Case {
  readonly kind: RowKind;
  readonly values: readonly string[];
}

/** Redaction must change nothing in this row. */
export interface Negative extends Case {
  readonly like: string;
}

export type Row = Positive | Negative;

export type Corpus = LoadedRows<Row>;

export const isPositive = (row: Row): row is Positive => 'kind' in row;

export type Part = 'development' | 'held-out';
export const parts: readonly Part[] = ['development', 'held-out'];

/** The families, by the names of their files. `families.ts` scores each; `loadCorpus` reads the other files. */
export const families = ['names', 'sizes', 'commands', 'encodings', 'people'] as const;
export type Family = (typeof families)[number];
/** The families whose rows have a text or a value. The rows of `sizes` name the parameters of a payload: sizes.ts. */
export type TextFamily = Exclude<Family, 'sizes'>;

const defaultFolder = join(import.meta.dirname, '../cases/redact');

/** Reads the rows of a part, without those of the families and without rows that have problems. */
export function loadCorpus(part: Part): Corpus {
  const isOfFamily = (name: string): boolean => families.some((family) => name === `${family}.jsonl`);
  return loadFiles(part, (name) => name.endsWith('.jsonl') && !isOfFamily(name), readRow);
}

export const loadFamily = (part: Part, family: TextFamily): Corpus => loadFiles(part, (name) => name === `${family}.jsonl`, readRow);

export interface LoadedRows<R> {
  readonly rows: readonly R[];
  /** `file:line: what is wrong`. */
  readonly problems: readonly string[];
}

/** Reads the rows of the files of a part. TOLLGATE_TEST_CORPUS names another folder. */
export function loadFiles<R>(part: Part, isWanted: (name: string) => boolean, read: (fields: Fields) => ReadRow<R>): LoadedRows<R> {
  const folder = join(process.env['TOLLGATE_TEST_CORPUS'] ?? defaultFolder, part);
  if (!existsSync(folder)) return { rows: [], problems: [`${part}: there is no such folder`] };
  const parsed = readdirSync(folder)
    .filter(isWanted)
    .toSorted()
    .flatMap((name) => parseLines(`${part}/${name}`, readFileSync(join(folder, name), 'utf8'), read));
  return {
    rows: parsed.flatMap(({ row }) => (row === null ? [] : [row])),
    problems: parsed.flatMap(({ problems }) => problems),
  };
}

/** The fields of a line by name. */
export type Fields = ReadonlyMap<string, unknown>;

/** What a line is, or why it cannot be scored. */
export interface ReadRow<R> {
  readonly row: R | null;
  readonly problems: readonly string[];
}

/** Parses one row per line. `name` is the file name in problems. */
export const parseRows = (name: string, content: string): readonly ReadRow<Row>[] => parseLines(name, content, readRow);

function parseLines<R>(name: string, content: string, read: (fields: Fields) => ReadRow<R>): readonly ReadRow<R>[] {
  return content.split('\n').flatMap((line, at): ReadRow<R>[] => {
    if (line.trim() === '') return [];
    const { row, problems } = parseLine(line, read);
    return [{ row, problems: problems.map((problem) => `${name}:${at + 1}: ${problem}`) }];
  });
}

function parseLine<R>(line: string, read: (fields: Fields) => ReadRow<R>): ReadRow<R> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return { row: null, problems: ['is not JSON'] };
  }
  if (typeof parsed !== 'object' || parsed === null) return { row: null, problems: ['is not an object'] };
  return read(new Map(Object.entries(withoutBars(parsed))));
}

function readRow(fields: Fields): ReadRow<Row> {
  const problems = problemsOf(fields);
  return problems.length > 0 ? { row: null, problems } : { row: rowOf(fields), problems };
}

/**
 * Removes the bars. A bar breaks each invented secret, so that scanners of code hosts do not report it as a real one.
 */
function withoutBars(value: object): object {
  return JSON.parse(JSON.stringify(value).replaceAll('¦', ''));
}

const known = new Set(['id', 'kind', 'like', 'in', 'text', 'value', 'values']);

const isRowKind = (value: unknown): value is RowKind => isRedactionKind(value) || awaitedKinds.some((kind) => kind === value);

function problemsOf(fields: Fields): readonly string[] {
  const problems = [...fields.keys()].filter((name) => !known.has(name)).map((name) => `has an unknown field ${name}`);
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  expect(/^[a-z][a-z0-9]*-\d{4}$/.test(textOf(fields, 'id')), 'id must be like `form-0001`');
  expect(textOf(fields, 'in') !== '', 'in must be a text');
  expect(fields.has('text') !== fields.has('value'), 'has both text and value, or neither');
  expect(!fields.has('text') || textOf(fields, 'text') !== '', 'text must be a text');
  expect(fields.has('kind') !== fields.has('like'), 'has both kind and like, or neither');
  if (fields.has('like')) {
    expect(textOf(fields, 'like') !== '', 'like must be a text');
    expect(!fields.has('values'), 'looks only like something, and yet has values');
    return problems;
  }
  expect(isRowKind(fields.get('kind')), 'kind must be a kind of redaction');
  const values = valuesOf(fields);
  expect(values.length > 0, 'values must be texts, at least one');
  const places = fields.has('value') ? leavesOf(fields.get('value')) : [textOf(fields, 'text')];
  values.forEach((value, at) =>
    expect(
      places.some((place) => place.includes(value)),
      `values[${at}] does not occur`,
    ),
  );
  return problems;
}

function rowOf(fields: Fields): Row {
  const isJson = fields.has('value');
  // The JSON that a door gives to redaction: its keys are sorted.
  const text = isJson ? canonicalJson(fields.get('value')) : textOf(fields, 'text');
  const common = { id: textOf(fields, 'id'), in: textOf(fields, 'in'), text, isJson };
  const kind = fields.get('kind');
  return isRowKind(kind) ? { ...common, kind, values: valuesOf(fields) } : { ...common, like: textOf(fields, 'like') };
}

function textOf(fields: Fields, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}

function valuesOf(fields: Fields): readonly string[] {
  const values = fields.get('values');
  return Array.isArray(values) && values.every((value) => typeof value === 'string' && value !== '') ? values : [];
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Array.isArray(value) ? value.flatMap(leavesOf) : Object.entries(value).flatMap(([key, inner]) => [key, ...leavesOf(inner)]);
}

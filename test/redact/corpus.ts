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

/** None of `values` may survive redaction. */
export interface Positive extends Case {
  readonly kind: RedactionKind;
  readonly values: readonly string[];
}

/** Redaction must change nothing in this row. */
export interface Negative extends Case {
  readonly like: string;
}

export type Row = Positive | Negative;

export interface Corpus {
  readonly rows: readonly Row[];
  /** `file:line: what is wrong`. */
  readonly problems: readonly string[];
}

export const isPositive = (row: Row): row is Positive => 'kind' in row;

export type Part = 'development' | 'held-out';
export const parts: readonly Part[] = ['development', 'held-out'];

const defaultFolder = join(import.meta.dirname, '../cases/redact');

/** Reads the rows of a part, without rows that have problems. TOLLGATE_TEST_CORPUS names another folder. */
export function loadCorpus(part: Part): Corpus {
  const folder = join(process.env['TOLLGATE_TEST_CORPUS'] ?? defaultFolder, part);
  if (!existsSync(folder)) return { rows: [], problems: [`${part}: there is no such folder`] };
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  const parsed = files.toSorted().flatMap((name) => parseRows(`${part}/${name}`, readFileSync(join(folder, name), 'utf8')));
  return {
    rows: parsed.flatMap(({ row }) => (row === null ? [] : [row])),
    problems: parsed.flatMap(({ problems }) => problems),
  };
}

interface CorpusLine {
  readonly row: Row | null;
  readonly problems: readonly string[];
}

/** Parses one row per line. `name` is the file name in problems. */
export function parseRows(name: string, content: string): readonly CorpusLine[] {
  return content.split('\n').flatMap((line, at): CorpusLine[] => {
    if (line.trim() === '') return [];
    const { row, problems } = parseRow(line);
    return [{ row, problems: problems.map((problem) => `${name}:${at + 1}: ${problem}`) }];
  });
}

function parseRow(line: string): CorpusLine {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    return { row: null, problems: ['is not JSON'] };
  }
  if (typeof parsed !== 'object' || parsed === null) return { row: null, problems: ['is not an object'] };
  const fields = new Map(Object.entries(withoutBars(parsed)));
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

function problemsOf(fields: ReadonlyMap<string, unknown>): readonly string[] {
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
  expect(isRedactionKind(fields.get('kind')), 'kind must be a kind of redaction');
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

function rowOf(fields: ReadonlyMap<string, unknown>): Row {
  const isJson = fields.has('value');
  // The JSON that a door gives to redaction: its keys are sorted.
  const text = isJson ? canonicalJson(fields.get('value')) : textOf(fields, 'text');
  const common = { id: textOf(fields, 'id'), in: textOf(fields, 'in'), text, isJson };
  const kind = fields.get('kind');
  return isRedactionKind(kind) ? { ...common, kind, values: valuesOf(fields) } : { ...common, like: textOf(fields, 'like') };
}

function textOf(fields: ReadonlyMap<string, unknown>, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}

function valuesOf(fields: ReadonlyMap<string, unknown>): readonly string[] {
  const values = fields.get('values');
  return Array.isArray(values) && values.every((value) => typeof value === 'string' && value !== '') ? values : [];
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [String(value)];
  return Array.isArray(value) ? value.flatMap(leavesOf) : Object.entries(value).flatMap(([key, inner]) => [key, ...leavesOf(inner)]);
}

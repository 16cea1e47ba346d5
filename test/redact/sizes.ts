// Reads and scores the rows of the family `sizes`: each names the parameters of a large payload (payloads.ts), not its
// text. A payload is compared line by line, because it has too many values to look for each in the whole.
import { isRedactionKind, overBudgetKind, type RedactionKind } from '@tollgate/proto/contract';
import { type Fields, type LoadedRows, loadFiles, type Part, type ReadRow } from './corpus.ts';
import type { Library } from './libraries.ts';
import { type Line, type LineKind, lineMakers } from './payload-lines.ts';
import { linesOfPayload, makeLines, type Payload, type PayloadShape, payloadShapes, payloadText } from './payloads.ts';
import { scoreValues } from './score.ts';
import { mark } from './survival.ts';

export interface SizeRow {
  readonly id: string;
  /** What most of the values are. Null: nothing in the payload is to be replaced. */
  readonly kind: RedactionKind | null;
  readonly payload: Payload;
}

export interface SizeScore {
  readonly row: SizeRow;
  /** The number of values that must be replaced, and of those that are gone. */
  readonly values: number;
  readonly gone: number;
  /** More than the values was removed. */
  readonly isExcess: boolean;
  /** The payload, or all of its text, was replaced by one mark. */
  readonly isWhole: boolean;
  readonly isDamaged: boolean;
}

export const loadSizes = (part: Part): LoadedRows<SizeRow> => loadFiles(part, (name) => name === 'sizes.jsonl', readSizeRow);

const bounds = { lines: 300_000, seed: 2 ** 32, every: 10_000, distinct: 10_000 } as const;
const known = ['id', 'kind', 'like', 'make', 'shape', ...Object.keys(bounds)];

export function readSizeRow(fields: Fields): ReadRow<SizeRow> {
  const problems = [...fields.keys()].filter((name) => !known.includes(name)).map((name) => `has an unknown field ${name}`);
  const expect = (holds: boolean, problem: string): void => {
    if (!holds) problems.push(problem);
  };
  const [id, kind, make, shape] = [fields.get('id'), fields.get('kind'), fields.get('make'), fields.get('shape')];
  const numberOf = (name: keyof typeof bounds): number => {
    const value = fields.get(name);
    const isRight = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < bounds[name];
    expect(isRight, `${name} must be a whole number from 0, below ${bounds[name]}`);
    return isRight ? value : 0;
  };
  const numbers = { lines: numberOf('lines'), seed: numberOf('seed'), every: numberOf('every'), distinct: numberOf('distinct') };
  expect(typeof id === 'string' && /^size-\d{4}$/.test(id), 'id must be like `size-0001`');
  expect(fields.has('kind') !== fields.has('like'), 'has both kind and like, or neither');
  expect(!fields.has('kind') || isRedactionKind(kind), 'kind must be a kind of redaction');
  expect(fields.has('kind') === numbers.every > 0, 'a payload has values where it has a kind, and only there');
  if (!isLineKind(make)) return { row: null, problems: [...problems, 'make must be a kind of payload'] };
  if (!isShape(shape)) return { row: null, problems: [...problems, `shape must be one of ${payloadShapes.join(', ')}`] };
  expect((shape === 'list') === (lineMakers[make].isJson === true), 'shape must be list where the lines are JSON items, and only there');
  expect(numbers.every === 0 || lineMakers[make].secret !== undefined, 'the payload has nothing to replace');
  const row = { id: String(id), kind: isRedactionKind(kind) ? kind : null, payload: { make, shape, ...numbers } };
  return { row: problems.length === 0 ? row : null, problems };
}

const isLineKind = (value: unknown): value is LineKind => typeof value === 'string' && Object.hasOwn(lineMakers, value);
const isShape = (value: unknown): value is PayloadShape => payloadShapes.some((shape) => shape === value);

export async function scoreSize(row: SizeRow, { redactText, redactJson }: Library): Promise<SizeScore> {
  const { shape } = row.payload;
  const lines = makeLines(row.payload);
  const text = payloadText(lines, shape);
  const output = await (shape === 'text' ? redactText(text) : redactJson(text));
  const { values, gone, isExcess } = compareLines(lines, linesOfPayload(output, shape));
  const isWhole = output.includes(`[redacted:${overBudgetKind}`);
  // A payload without values cannot lose more than them; any change is damage.
  return { row, values, gone: isWhole ? values : gone, isExcess, isWhole, isDamaged: values === 0 && output !== text };
}

/** Null, or another number of lines: the redactor changed the structure, and nothing is known to be gone. */
export function compareLines(lines: readonly Line[], output: readonly string[] | null): Pick<SizeScore, 'values' | 'gone' | 'isExcess'> {
  const values = lines.reduce((sum, line) => sum + Math.floor(line.length / 2), 0);
  if (output === null || output.length !== lines.length) return { values, gone: 0, isExcess: true };
  let [gone, isExcess] = [0, false];
  lines.forEach((line, at) => {
    const scored = compareLine(line, output[at] ?? '');
    gone += scored.gone;
    isExcess ||= scored.isExcess;
  });
  return { values, gone, isExcess };
}

const everyMark = new RegExp(mark, 'g');
const blank = '\u0000';

/** Most lines are as they should be, or unchanged; only the others are searched for what is left. */
function compareLine(line: Line, output: string): Pick<SizeScore, 'gone' | 'isExcess'> {
  const inLine = line.filter((_, at) => at % 2 === 1);
  const text = line.join('');
  if (output === text) return { gone: 0, isExcess: false };
  const wanted = line.map((piece, at) => (at % 2 === 1 ? blank : piece)).join('');
  if (output.replaceAll(everyMark, blank) === wanted) return { gone: inLine.length, isExcess: false };
  return inLine.length === 0 ? { gone: 0, isExcess: true } : scoreValues(text, output, inLine);
}

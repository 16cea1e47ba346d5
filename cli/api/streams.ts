// Reads streamed answers: lines of NDJSON, and Server-Sent Events. The library eventsource-parser is not used here,
// because it drops the id of a block without data. Notes of the audit log are such blocks, and the client needs their
// ids to resume after them.
import { isRow, type Row } from './answer.ts';
import { Failure, Outage } from '../failure.ts';

const lineCharsMax = 16 * 1024 * 1024;

/**
 * Yields each whole line, without its line end. Throws if text remains after the last line end, because the answer was
 * cut off.
 */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > lineCharsMax)
      throw new Failure('the answer has a line of more than 16 MiB; check that the URL is the REST address of a control plane');
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
  if (rest !== '') throw new Outage('the answer was cut off in the middle of a line');
}

/** Yields each line as its object. */
export async function* rowsOf(pieces: AsyncIterable<string>): AsyncGenerator<Row> {
  for await (const line of linesOf(pieces)) if (line !== '') yield parseRow(line);
}

export interface SentEvent {
  readonly event: string;
  /** Null when the block has no id. */
  readonly id: string | null;
  /** Null when the block has no data, for example only a comment. */
  readonly data: string | null;
  readonly comment: string | null;
}

/** Yields each whole block. An incomplete block is not yielded: a client that resumes receives it again. */
export async function* eventsOf(pieces: AsyncIterable<string>): AsyncGenerator<SentEvent> {
  let lines: string[] = [];
  for await (const line of linesOf(pieces)) {
    if (line !== '') {
      lines.push(line);
    } else if (lines.length > 0) {
      yield eventFrom(lines);
      lines = [];
    }
  }
}

function eventFrom(lines: readonly string[]): SentEvent {
  const fields = lines.map((line) => /^([^:]*):? ?(.*)$/s.exec(line) ?? []);
  const all = (wanted: string): readonly string[] => fields.flatMap(([, name, value = '']) => (name === wanted ? [value] : []));
  const joined = (wanted: string): string | null => (all(wanted).length > 0 ? all(wanted).join('\n') : null);
  return { event: all('event').at(-1) ?? 'message', id: all('id').at(-1) ?? null, data: joined('data'), comment: joined('') };
}

export function parseRow(text: string): Row {
  const value = parse(text);
  if (!isRow(value))
    throw new Failure('the answer has a line that is not a JSON object; check that the URL is the REST address of a control plane');
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

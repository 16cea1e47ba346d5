// Prints the output of a command. Results go to standard output: a table or lines for people, or one JSON value with
// `--json`. All other messages go to standard error. Colour is used only on a terminal, and not with NO_COLOR.
import { once } from 'node:events';
import type { Row } from '../api/answer.ts';
import { escapeText, safeJson } from './escape.ts';
import { type Column, drawTable } from './table.ts';
import type { Sink, World } from '../world.ts';

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

interface View {
  readonly columns: readonly Column[];
  /** Printed when there is no row. */
  readonly empty: string;
  /** Returns the lines below a row, which the caller has escaped and broken at the width of the terminal. */
  readonly below?: (row: Row) => readonly string[];
}

export interface Printer {
  /** Whether `--json` was given. */
  readonly json: boolean;
  /** Colours for the results on standard output. */
  readonly paint: Paint;
  /** With `--json`, prints the answer. Otherwise prints the rows as a table, or `empty` if there are no rows. */
  readonly table: (answer: unknown, rows: readonly Row[], view: View) => Promise<void>;
  /** With `--json`, prints the answer. Otherwise prints the lines, which the caller has escaped. */
  readonly lines: (answer: unknown, lines: readonly string[]) => Promise<void>;
  /**
   * With `--json`, prints the answer. Otherwise prints only `text` on standard output, and `words` on standard error.
   */
  readonly secret: (answer: unknown, text: string, words: string) => Promise<void>;
  /** Prints one entry of a stream: a line of JSON with `--json`, otherwise `line`. */
  readonly entry: (value: unknown, line: string) => Promise<void>;
  /** Prints a text on standard error, escaped. */
  readonly note: (text: string) => void;
}

export function createPrinter({ env, stdout, stderr }: Pick<World, 'env' | 'stdout' | 'stderr'>, json: boolean): Printer {
  const paint = paintOf(stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '');
  const width = stdout.isTTY === true ? stdout.columns || 80 : null;
  const write = (text: string): Promise<void> => writeAll(stdout, `${text}\n`);
  const note = (text: string): void => void stderr.write(`${escapeText(text)}\n`);
  return {
    json,
    paint,
    note,
    table: async (answer, rows, { columns, empty, below }) => {
      if (json) return write(safeJson(answer, 2));
      if (rows.length === 0) return note(empty);
      return write(await drawTable(rows, columns, { width, bold: paint.bold, below }));
    },
    lines: async (answer, lines) => {
      if (json) return write(safeJson(answer, 2));
      if (lines.length > 0) await write(lines.join('\n'));
    },
    secret: async (answer, text, words) => {
      if (json) return write(safeJson(answer, 2));
      note(words);
      return write(escapeText(text));
    },
    entry: (value, line) => write(json ? safeJson(value) : line),
  };
}

/** Writes a text. Resolves when the stream can accept more. */
export async function writeAll(sink: Sink, text: string): Promise<void> {
  if (!sink.write(text)) await once(sink, 'drain');
}

export function paintOf(coloured: boolean): Paint {
  const code = (on: number, off: number) => (text: string) => (coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  return { bold: code(1, 22), dim: code(2, 22), red: code(31, 39), green: code(32, 39), yellow: code(33, 39) };
}

// Where a command's words go. Results on standard output: a table or lines for people, with `--json` one JSON value.
// Everything that is said besides goes to standard error. Colour only on a terminal, and not with NO_COLOR.
import { once } from 'node:events';
import type { Row } from './answer.ts';
import { escapeText, safeJson } from './escape.ts';
import { type Column, drawTable } from './table.ts';
import type { Sink, World } from './world.ts';

export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

interface View {
  readonly columns: readonly Column[];
  /** Said where there is no row. */
  readonly empty: string;
}

export interface Printer {
  /** Whether `--json` was asked for. */
  readonly json: boolean;
  /** For results. */
  readonly paint: Paint;
  /** The answer with `--json`, otherwise its rows as a table, or `empty` where there is none. */
  readonly table: (answer: unknown, rows: readonly Row[], view: View) => Promise<void>;
  /** The answer with `--json`, otherwise lines, which the caller has escaped. */
  readonly lines: (answer: unknown, lines: readonly string[]) => Promise<void>;
  /** The answer with `--json`; otherwise `text` alone on standard output and `words` beside it. */
  readonly secret: (answer: unknown, text: string, words: string) => Promise<void>;
  /** One line of JSON, for what goes on. */
  readonly entry: (value: unknown, line: string) => Promise<void>;
  /** Beside the result, escaped. */
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
    table: async (answer, rows, { columns, empty }) => {
      if (json) return write(safeJson(answer, 2));
      if (rows.length === 0) return note(empty);
      return write(await drawTable(rows, columns, { width, bold: paint.bold }));
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

/** Resolves once the stream would take more. */
export async function writeAll(sink: Sink, text: string): Promise<void> {
  if (!sink.write(text)) await once(sink, 'drain');
}

export function paintOf(coloured: boolean): Paint {
  const code = (on: number, off: number) => (text: string) => (coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  return { bold: code(1, 22), dim: code(2, 22), red: code(31, 39), green: code(32, 39), yellow: code(33, 39) };
}

// Prints the input of a call on one short line: what is paid to whom, for a list, for a question, and for what was
// answered. It is no substitute for the whole input: the line is cut, and says so. Nothing that an agent wrote stands in
// it outside of quotes, except plain names.
import { isRow } from '../api/answer.ts';
import { visibleJson } from './escape.ts';

/** The maximum of a name and of a value, in columns of a terminal, without the quotes and the words behind a cut. */
const partLength = 40;
/** The maximum of a line with several values. */
const lineLength = 72;
const plainName = /^[A-Za-z0-9_.-]{1,40}$/;

interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

/** Returns the path of a value in one form: `items[0].name` and `items.0.name` are the same. */
export const plainPath = (path: string): string => path.replaceAll(/\[(\d+)\]/g, '.$1').replace(/^\$?\.?/, '');

/** Returns the path of a value within an object or a list. */
export const pathWithin = (path: string, name: string | number): string => (path === '' ? String(name) : `${path}.${name}`);

/** Returns the beginning of a text as JSON, with every character visible. What is cut is counted behind the quotes. */
export function shortJson(text: string, columns: number = partLength): string {
  let [kept, used] = ['', 0];
  for (const one of text) {
    used += one > '\u10ff' ? Math.max(2, visibleJson(one).length - 2) : visibleJson(one).length - 2;
    if (used > columns) return `${visibleJson(kept)}... (${text.length} characters)`;
    kept += one;
  }
  return visibleJson(text);
}

/** `hidden`: the paths of values that the tool receives although the input does not show them. */
export function briefInput(input: unknown, hidden: readonly string[]): string {
  const hiddenAt = hidden.map(plainPath);
  const leaves = leavesIn(input, '').map(({ path, value }) => {
    const hides = hiddenAt.filter((one) => one === path).length;
    const name = path === '' ? '' : `${plainName.test(path) ? path : shortJson(path)}: `;
    return { words: `${name}${hides > 0 ? '(hidden)' : valueWords(value)}`, hides };
  });
  const shown = leaves.slice(0, countThatFit(leaves.map(({ words }) => words)));
  const more = leaves.length - shown.length;
  const rest = hidden.length - shown.reduce((sum, { hides }) => sum + hides, 0);
  return `${shown.map(({ words }) => words).join(', ')}${more === 0 ? '' : `, ... (${more} more)`}${rest <= 0 ? '' : ` (${rest} hidden)`}`;
}

/** How many of the parts make a line of at most `lineLength`; the first is always among them. */
function countThatFit(parts: readonly string[]): number {
  let used = 0;
  const tooLong = parts.findIndex((part, at) => {
    used += part.length + 2;
    return at > 0 && used > lineLength;
  });
  return tooLong === -1 ? parts.length : tooLong;
}

const valueWords = (value: unknown): string => (typeof value === 'string' ? shortJson(value) : visibleJson(value));

/** The values of an input that are no object or list, and the empty ones. */
function leavesIn(value: unknown, path: string): readonly Leaf[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((one, at) => leavesIn(one, pathWithin(path, at)));
  const entries = isRow(value) ? Object.entries(value) : [];
  return entries.length > 0 ? entries.flatMap(([name, one]) => leavesIn(one, pathWithin(path, name))) : [{ path, value }];
}

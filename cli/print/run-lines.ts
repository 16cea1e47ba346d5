// Prints a run as lines for people. The text of a model keeps its lines, and contains nothing that a terminal would
// interpret.
import { escapeText, safeJson } from './escape.ts';
import { shown } from './cell.ts';

/** Returns a text of a model with its lines, and without control sequences for a terminal. */
export const plain = (text: string): string =>
  text
    .split(/(\r?\n|\t)/)
    .map((part) => (/^[\r\n\t]/.test(part) ? part.replace('\r', '') : escapeText(part)))
    .join('');

const valueMax = 200;
const short = (value: unknown): string => {
  const json = safeJson(value);
  return json.length <= valueMax ? json : `${json.slice(0, valueMax)}…`;
};

export const callLine = (tool: unknown, input: unknown): string => `→ ${shown(tool)} ${short(input)}`;

export const resultLine = (tool: unknown, isError: unknown, output: unknown): string =>
  `← ${shown(tool)}${isError === true ? ' failed:' : ''} ${short(output)}`;

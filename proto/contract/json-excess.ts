// Checks whether a JSON text contains more values, or is nested more deeply, than permitted. This happens before the
// text is parsed, because a parsed value takes up to 210 bytes (docs/design/bounds.md). A text that consists of
// brackets needs thirty times its size after parsing.
import { stringEnd } from './json-tokens.ts';

export const tooManyValues = (nodes: number): string => `has more than ${nodes} values`;

export const tooDeep = (depth: number): string => `is nested deeper than ${depth}`;

/**
 * Returns the problem, in words that follow the name of the value. Null: the text is within the limits, or is not JSON.
 * Each opening bracket counts as a value, and so does the value before each comma.
 */
export function excessIn(text: string, { depth, nodes }: { readonly depth: number; readonly nodes: number }): string | null {
  if (text.length <= nodes) return null;
  let level = 0;
  let opened = 0;
  let commas = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 34 /* " */) {
      const end = stringEnd(text, at);
      if (end < 0) return null;
      at = end - 1;
    } else if (code === 44 /* , */) {
      commas += 1;
      if (commas >= nodes) return tooManyValues(nodes);
    } else if (code === 125 || code === 93 /* } ] */) level -= 1;
    else if (code === 123 || code === 91 /* { [ */) {
      opened += 1;
      level += 1;
      if (level > depth) return tooDeep(depth);
      if (opened > nodes) return tooManyValues(nodes);
    }
  }
  return null;
}

/**
 * Returns an upper limit of the number of values, if the text is JSON in UTF-8. It counts brackets and commas in the
 * same way as `excessIn`.
 */
export function countValues(text: Uint8Array): number {
  let values = 1;
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text[at];
    if (code === 34 /* " */) isString = !isString;
    else if (isString) {
      if (code === 92 /* \ */) at += 1;
    } else if (code === 44 /* , */ || code === 123 || code === 91 /* { [ */) values += 1;
  }
  return values;
}

/** Returns an upper limit of the number of fields of a form, written as `a=1&b=2`. */
export function countFields(text: Uint8Array): number {
  let fields = 1;
  for (const code of text) if (code === 38 /* & */) fields += 1;
  return fields;
}

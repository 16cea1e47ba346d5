// Positions in texts. CEL counts code points, JavaScript counts UTF-16 code units.

const surrogate = /[\uD800-\uDFFF]/;

export const codePoints = (text: string): readonly string[] => Array.from(text);

/** Whether two code units, the second at this index, are one code point. */
const isPair = (text: string, second: number): boolean =>
  (text.charCodeAt(second) & 0xfc00) === 0xdc00 && (text.charCodeAt(second - 1) & 0xfc00) === 0xd800;

/** The number of code points. Half of a surrogate pair is one. */
export function lengthOf(text: string): number {
  if (!surrogate.test(text)) return text.length;
  let length = text.length;
  for (let at = 1; at < text.length; at += 1) if (isPair(text, at)) length -= 1;
  return length;
}

/** Returns the index of the code unit at which the code point with this number begins. */
function unitAt(text: string, position: number): number {
  let unit = 0;
  for (let at = 0; at < position && unit < text.length; at += 1) unit += isPair(text, unit + 1) ? 2 : 1;
  return unit;
}

/** Returns the part of a text between two positions. */
export function slice(text: string, from: number, to?: number): string {
  if (!surrogate.test(text)) return text.slice(from, to);
  return text.slice(unitAt(text, from), to === undefined ? undefined : unitAt(text, to));
}

// Finds where the tokens of a JSON text end. All code that reads JSON text without parsing it uses these functions. The
// text may be invalid JSON.

export const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

/** Returns the position of the next character that is not blank, from `start` on. */
export function skipBlanks(text: string, start: number): number {
  let at = start;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** Returns the position after the closing quote of the string that opens at `start`. -1: the string does not end. */
export function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (end - slashes - 1 > start && text.charCodeAt(end - slashes - 1) === 92 /* \ */) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
  }
  return -1;
}

/** Returns the position after the number or word that begins at `start`. */
export function scalarEnd(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isBlank(code) || code === 44 || code === 93 || code === 125 /* , ] } */) break;
  }
  return at;
}

// Makes sure that no data of a server reaches the terminal as a control sequence. Each control, format and
// line-separating character is written as its escape.

const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const unsafeInJson = /[\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export const escapeText = (text: string): string => text.replaceAll(unsafe, (character) => short[character] ?? escapeUnits(character));

/**
 * Returns JSON with the same value that is safe for a terminal: characters that JSON.stringify would not escape are
 * written as `\uXXXX`.
 */
export const safeJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, null, indent) ?? 'null').replaceAll(unsafeInJson, escapeUnits);

const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

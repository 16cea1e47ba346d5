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

/**
 * What a terminal may show as nothing, as a space, or in another order: all that `unsafeInJson` has, characters that fonts
 * do not draw (fillers, variation selectors), unassigned and private ones, and every space except U+0020.
 */
const unseen = /[\u007f-\u009f\u2800\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;

/** As `safeJson`, for what a person must see before deciding: every character that could not be seen is escaped too. */
export const visibleJson = (value: unknown): string => (JSON.stringify(value) ?? 'null').replaceAll(unseen, escapeUnits);

/** As `escapeText`, with every character that could not be seen. */
export const visibleText = (text: string): string => escapeText(text).replaceAll(unseen, escapeUnits);

/**
 * Returns the characters of a text that could not be seen, and its control characters. Tabs and the ends of lines are in
 * every program text, so they are left out.
 */
export const unseenIn = (text: string): readonly string[] => text.match(unseenOrControl) ?? [];
const unseenOrControl = new RegExp(`${unseen.source}|(?![\\t\\n\\r])\\p{Cc}`, 'gu');

/** Returns a character as `\uXXXX`, one for each UTF-16 code unit. */
export const escapeUnits = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

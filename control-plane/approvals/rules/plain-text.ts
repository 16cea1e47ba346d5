// Texts that a database and a terminal can take. Pure.

/** Whether PostgreSQL can store the text unchanged: it holds no NUL and no half of a surrogate pair. */
export const isPlainText = (text: string): boolean => !/[\p{Cs}\0]/u.test(text);

// Everything that a reader does not see, or that changes the order in which other characters are shown: control and
// format characters, private and unassigned ones, separators other than the space, the blank of braille, and what fonts may leave out.
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

const escapeOf = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('');

/** Returns the text with every invisible or bidirectional character as `\uXXXX`. Line feeds stay. */
export const escapeHidden = (text: string): string => text.replaceAll(hidden, (one) => (one === '\n' ? one : escapeOf(one)));

/** Returns JSON text in lines, for people: nothing in it is invisible. */
export const prettyJson = (json: string): string => escapeHidden(JSON.stringify(JSON.parse(json), null, 2));

// Tests whether a text next to a name for passwords or secrets can be the value of this name. The text must not be
// prose, code, a path or a date. The time of all tests is linear in the length of the value.

import { builtInMarks, withoutMarks } from '../../marks.ts';
import { bitsPerCharacter } from '../entropy.ts';
import { isPasswordPlaceholder, isPlaceholder } from '../placeholders.ts';

const passwordLengthMin = 4;
// A password with blanks is not longer than this.
const passPhraseLengthMax = 256;
// Only this much of a value is tested. Words that people write are not longer.
const judgedLength = 4_096;

/**
 * Returns the value without the redaction marks that it already contains, and without surrounding blanks. Only the rest
 * is tested. Text that only resembles a mark is kept.
 */
export const bareOf = (value: string): string => withoutMarks(value, builtInMarks).replaceAll('[redacted:', '').trim();

/** Returns whether a value between quotes, or a whole JSON string, can be a password. */
export function isPasswordValue(given: string): boolean {
  const value = bareOf(given);
  if (value.length > passPhraseLengthMax) return !/\s/.test(value) && !isOther(value.slice(0, judgedLength));
  if (value.length < passwordLengthMin || isPasswordPlaceholder(value) || isOther(value)) return false;
  if (/^\d+$/.test(value)) return value.length >= 6;
  return /\s/.test(value) ? isPassPhrase(value) : !/^(?:true|false|\p{P}+)$/u.test(value);
}

/** Returns whether a value can be a generated secret. `lengthMin`: the minimum number of characters. */
export function isSecretValue(given: string, lengthMin = 8): boolean {
  const value = bareOf(given);
  if (value.length < lengthMin || isPlaceholder(value)) return false;
  if (seedPhrase.test(value)) return true;
  const judged = value.slice(0, judgedLength);
  return !/\s/.test(value) && !isOther(judged) && isDrawn(judged);
}

// BIP-39: 12 to 24 words of 3 to 8 letters.
const seedPhrase = /^(?:[a-z]{3,8} ){11,23}[a-z]{3,8}$/;

/** Returns whether a value without quotes can be a password: it must be more than a word of prose or code. */
export function isStrongPassword(given: string, lengthMin: number): boolean {
  const value = bareOf(given);
  if (value.length < lengthMin || !isPasswordValue(value) || isCode(value.slice(0, judgedLength)) || eitherOr.test(value)) return false;
  if (/^\d+$/.test(value)) return value.length >= 6;
  const hasDigit = /\d/.test(value);
  const hasSymbol = /[^\p{L}\p{M}\d\s._'’-]/u.test(value.replace(/[!?:]$/, ''));
  const hasLetter = /\p{L}/u.test(value);
  if (!hasLetter) return hasDigit && hasSymbol && value.length >= 8 && !/^[\d\s.,:/+%x*()-]+$/.test(value);
  return hasDigit || hasSymbol || isIrregular(value);
}

/** Words with slashes between them: `encoder/decoder`, `domain/`. */
const eitherOr = /^\p{L}+(?:\/\p{L}*)+$/u;

/** Returns whether capitals and small letters alternate in a way that names do not have. */
const isIrregular = (value: string): boolean =>
  value.length >= 8 && /\p{Ll}\p{Lu}+\p{Ll}*\p{Lu}|\p{Lu}{2}\p{Ll}\p{Lu}/u.test(value) && isDrawn(value);

// Other things that are written in place of a value: addresses, paths, files, versions, dates, sizes, algorithms.
const others: readonly RegExp[] = [
  /^[a-z][a-z0-9+.-]{1,20}:\/\//i,
  /^(?:~|\.{1,2})?\/[\w.@-]+(?:\/[\w.@-]*)+$|^[A-Za-z]:\\|^[\w-]+(?:\/[a-z][\w-]*)+\.[a-z]{1,5}$/,
  /^v?\d+(?:\.\d+){1,3}(?:[-+][\w.]+)?$/i,
  /^\d{4}-\d{2}-\d{2}(?:$|[T ]\d{2}:)|^\d{1,2}[./]\d{1,2}[./]\d{2,4}$|^\d{1,2}:\d{2}[\d:.,+-]*(?:Z|[ap]m|UTC)?(?:$|[\s)\]])/i,
  // A path, a URL or a pattern that begins with a variable.
  /^\$(?:[A-Z_][A-Z0-9_]*[/:.?]|[a-z_]\w*\/)/,
  /^\/[a-z][a-z_-]*$|^@[a-z][\w.-]*\/[a-z][\w./-]*$/,
  /^\d+(?:[.,]\d+)?(?:[a-z]{1,3}|%)$/i,
  /^#[0-9a-f]{3,8}$/i,
  // Validation rules of a form: `required|min:8`.
  /^[a-z_]+(?:\|[a-z_]+(?::[\w,.]+)?)+$/,
  /^(?:argon2(?:id|i|d)?|bcrypt|scrypt|md5|crypt|sha-?\d{1,3}|pbkdf2|oauth2?|base64|base64url|utf-?8|scram-sha-256|hs256|rs256|es256|x509|2fa|mfa|aes-?\d+\S*)$/i,
  /^[\w.-]+\.(?:json|ya?ml|txt|pem|key|crt|toml|env|js|ts|py|go|rs|java|php|html?|css|md|png|svg|sh|conf|xml|csv|log)$/i,
  /^(?:sha\d{3}|md5)[-:]/i,
  /^-----BEGIN /,
  /\$\{|\{\{|\}\}|%\(|<%/,
];
const isOther = (value: string): boolean => others.some((one) => one.test(value));

// Calls, members, elements and types as in code.
const codes: readonly RegExp[] = [
  /^[\w$.:>?!&*@-]*\w\(|^\(|\)[;.{]|=>|::|\(\)/,
  /^[A-Za-z_$][\w$.]*\[/,
  /^[&*!~]{1,2}[A-Za-z_]\w*(?:\.\w+)*$/,
  /^[A-Za-z_$][\w$]*<[\w<>,.[\]| ?]*>?\??$|^(?!\w*[a-z]\d[a-z])[A-Za-z]\w*[!?]$|^[A-Za-z]\w*\[\]$/,
  /^\w+\{|^[{}[\]<]/,
  /^[A-Za-z_$][\w$.]*\?\.[\w[(]/,
  // A link of Markdown, a regular expression, an index within quotes, a path with wildcards.
  /\]\(/,
  /^\/[\^[(\\]/,
  /^["'`][\w$.-]*\[["']/,
  // The end of a call, an argument by its name, an option.
  /^[\w.]+\)+$|^\p{L}+\)\p{L}*$/u,
  /^[a-z_]\w*=(?:True|False|None|[a-z_]\w*)$/,
  /^--[a-z][\w-]*=|^-[A-Za-z](?:[):=]|$)/,
  /^(?=[^*]*\*)(?:[\w-]+|\*{1,2})(?:\.(?:[\w-]+|\*{1,2}))+$/,
];
const chain = /^[A-Za-z_$][\w$]*(?:\??(?:\.|->)[A-Za-z_$][\w$]*)+$/;
export const isCode = (value: string): boolean => codes.some((one) => one.test(value)) || (chain.test(value) && !isDrawn(value));

const proseWords = new Set(
  (
    'a an and are at be by can cannot could do does for from has have if in is it its least may must no not of on one or please should than that the this to was will with your ' +
    'incorrect wrong invalid required characters password token secret key change enter expired short long weak new old again try ' +
    'das der die ein eine ist sind nicht bitte muss und oder zu mit von für la le les un une est et ou pas de du des votre el los es y o su con por para que não é um uma o os e do da ' +
    'il lo i gli di non per che een het is niet en van moet må ska inte och att и не в на с для это'
  ).split(' '),
);

/** Returns whether words with blanks between them are a passphrase, and not a sentence. */
function isPassPhrase(value: string): boolean {
  const words = value.split(/\s+/);
  if (words.length > 10 || /[\r\n\t]/.test(value) || /[.!?:,;]$/.test(value)) return false;
  if (words.some((word) => proseWords.has(word.toLowerCase().replaceAll(/[^\p{L}]/gu, '')))) return false;
  const isDiceware = words.length >= 4 && words.every((word) => /^\p{Ll}{3,}$/u.test(word));
  if (isDiceware || words.some((word) => /\p{L}/u.test(word) && /\d/.test(word) && /[^\p{L}\d]/u.test(word))) return true;
  return words.length >= 3 && words.some((word) => /\p{Ll}/u.test(word) && /\p{Lu}/u.test(word) && /\d/.test(word));
}

const uuid = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/i;
const consonants = /[bcdfghjklmnpqrstvwxz]{5}/i;

/** Returns whether a machine generated the value character by character, and not a person by combining words. */
function isDrawn(value: string): boolean {
  if (/^\d+$/.test(value)) return value.length >= 20;
  if (uuid.test(value)) return true;
  const chunks = value.split(/[^A-Za-z0-9]+/);
  const drawn = chunks.reduce((sum, chunk) => sum + (isWordy(chunk) ? 0 : chunk.length), 0);
  if (drawn >= Math.max(5, value.length * 0.4)) return true;
  const classes = [/[a-z]/, /[A-Z]/, /\d/, /[!@#$%^&*+=~?]/].filter((one) => one.test(value)).length;
  return classes === 4 || (value.length >= 32 && chunks.length <= 2 && bitsPerCharacter(value) > 4.2);
}

// A number within a name: `Uint8Array`, `OAuth2Client`, `Ed25519PrivateKey`.
const numberWithin = /(?<=[A-Za-z][a-z])\d{1,5}(?=[A-Z][a-z]{2})/g;
const nameLengthMax = 80;
// Names of functions and types. Their words are longer than words in random text.
const longName =
  /^(?:[a-z]{2,16}|[A-Z]{2,4})?(?:[A-Z][a-z]{3,15}|[A-Z][a-z]{1,2}(?=[A-Z][a-z]{3})|[A-Z]{2,4}(?=[A-Z][a-z]{3}))+[A-Z]{0,3}$/;

/** Returns whether a chunk is a word, several words as in `camelCase`, a word with a number, or a number. */
function isWordy(chunk: string): boolean {
  const plain = chunk.replace(/\d{1,4}$/, '').replaceAll(numberWithin, '');
  if (/^\d*$/.test(plain)) return chunk.length <= 6;
  if (consonants.test(plain.replaceAll(/(?<=[a-z])(?=[A-Z][a-z])/g, ' '))) return false;
  if (plain.length > 24) return plain.length <= nameLengthMax && longName.test(plain);
  if (/^(?:[a-z]+|[A-Z]+)$/.test(plain)) return plain.length <= 16 && (plain.length < 5 || /[aeiouy]/i.test(plain));
  const words = plain.match(/[A-Z]*[a-z]+|[A-Z]+/g) ?? [];
  const strict = plain.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return words.join('') === plain && plain.length / words.length >= 3 && plain.length / strict.length >= 2.5;
}

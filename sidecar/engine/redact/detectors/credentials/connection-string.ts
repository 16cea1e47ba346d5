// Finds passwords and keys of connection strings: `Server=…;Password=…;`, `Endpoint=…;SharedAccessKey=…`.
import { type Detector, foundWhole } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';
import { endAt, runEnd } from './match.ts';

const owner = /^\s{0,4}(?:(?:user|trust ?store|key ?store|ssl|proxy|db)[ _-]?)?$/i;
const nameMax = 24;
const beforeMax = 128;
const quoted = /(?:'[^'\n]{1,256}'|\{[^}\n]{1,256}\}|&quot;[^&\n]{1,256}&quot;|"[^"\n]{1,256}")/y;
// HTML entities contain a semicolon that does not end the value.
const plain = /(?:[^;'"`\s<>\\&]|&(?:amp|lt|gt|#\d{2,4});|&(?![a-z]{2,6};)){1,512}/iy;

const plainRest = /(?:[^;'"`\s<>\\&]|&(?:amp|lt|gt|#\d{2,4});|&(?![a-z]{2,6};))*/iy;

const next = /;\s?[A-Za-z][A-Za-z _-]{1,40}=/y;

const reach = { before: beforeMax, after: 544 };

export const connectionString: Detector = {
  kind: 'url_credentials',
  anchors: [
    'password=',
    'password =',
    'pwd=',
    'pwd =',
    'accountkey=',
    'sharedaccesskey=',
    'sharedsecretvalue=',
    'sharedaccesssignature=',
    'accesskey=',
    'passphrase=',
    'secretkey=',
  ],
  reach,
  find: (text, at, end, found) => {
    if (!startsName(text, at)) return;
    const start = text[end] === ' ' ? end + 1 : end;
    const inQuotes = endAt(quoted, text, start);
    const stop = inQuotes === -1 ? endAt(plain, text, start) : inQuotes;
    if (stop === -1) return;
    // The setting must have a semicolon on at least one side.
    if (endAt(next, text, stop) === -1 && !followsAnother(text.slice(Math.max(0, at - beforeMax), at))) return;
    const mark = inQuotes === -1 ? 0 : text[start] === '&' ? 6 : 1;
    const value = text.slice(start + mark, stop - mark);
    if (value.length < 3 || isPlaceholder(value) || isCode(value) || (text[start] === '{' && isName(value))) return;
    if (inQuotes === -1) foundWhole(found, start, runEnd(text, stop, plainRest), reach);
    else found(start + mark, stop - mark);
  },
};

/**
 * Returns whether a semicolon precedes the setting. If a blank follows the semicolon, another setting must precede it,
 * because sentences contain semicolons too.
 */
function followsAnother(before: string): boolean {
  const semicolon = before.lastIndexOf(';');
  const between = before.slice(semicolon + 1);
  return semicolon !== -1 && owner.test(between) && (!/^\s/.test(between) || before.lastIndexOf('=', semicolon) !== -1);
}

/** Returns whether the name around `at` begins a setting, and is not part of a value. */
function startsName(text: string, at: number): boolean {
  let start = at;
  while (start > at - nameMax && /[A-Za-z_-]/.test(text.charAt(start - 1))) start -= 1;
  return start === 0 || /[;"'`\s<>\\]/.test(text.charAt(start - 1));
}

/** Returns whether the value is code. `password=getPassword();` ends with a semicolon too. */
const isCode = (value: string): boolean =>
  /^[$%#][A-Za-z_{(]|^\/[\^[(\\]|^\/[a-z]+(?:\/[\w.-]*)*$|^[A-Za-z_$][\w$.]*\(|^(?:this|self|PROCESS|os|env|config|null|undefined|None|true|false)\b[.\w]*$|^\d\}?$/i.test(
    value,
  );

/** Returns whether the text in braces is a name that a program replaces, as in `{DbPassword}`. */
const isName = (value: string): boolean => /^(?:[A-Za-z_][\w.]{0,40}|\d)$/.test(value) && !/\d.*[a-z].*\d/i.test(value);

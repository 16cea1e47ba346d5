// Finds the value of a name, in all notations that texts use: `name = "value"`, `name: value`, `<name>value</name>`,
// `--name value`, `name is value`. It reports where the value is and how certain it is.
import { isBlankInLine, isWide } from './name-span.ts';
import { valueAfterWideWords, valueAfterWords } from './spoken.ts';
import { after, bareValue, elementValue, quotedValue, type Value } from './value-span.ts';

// The characters that may close a name: quotes, also escaped ones, brackets, and emphasis.
const closers = /(?:\\{0,7}["'`]|&quot;|&#3[49];|&apos;|%22|\*{1,2}|__|\]|\)|」|』|”|»){1,4}/y;
const closerBegins = '"\'`\\&%*_])」』”»';
const sign =
  /[ \t\u00a0\u2000-\u200b\u202f\u205f]{0,24}(?::=|=>|->|={1,3}|:|：|＝|→|%3[DdAa]\+?|\\u003[dD]|&#61;)(?:\*{1,2}|__)?[ \t\u00a0\u2000-\u200b\u202f\u205f]{0,24}(?:!![a-z]{1,8}[ \t]|[|>][+-]?[ \t]{0,2}(?=\r?\n|\\n))?/y;
// A line break between a name and its value. In a list of definitions, a colon follows it.
const newLine = /(?:\r?\n|\\n){1,2}[ \t>]{0,8}(?::[ \t]{1,3})?/y;
const lineEnds = /[ \t]{0,8}(?:\r?\n|\\n|$)/y;
const tags = /(?:<\/?[a-z]{1,8}>\s{0,4}){1,3}/y;
// A type between a name and its value: `token: Option<String> = `, `apiKey string = `.
const typed =
  /(?:[ \t]{1,2}by[ \t]lazy[ \t]{0,2}\{[ \t]{0,4}(?=")|(?:[ \t]{0,2}\??:[ \t]{0,4}[&A-Za-z][\w<>[\].|?' ]{0,40}?|[ \t]{1,4}(?:string|\[\]byte|String|str|text|varchar(?:\(\d+\))?))[ \t]{0,4}:?=[ \t]{0,4}(?=[a-zA-Z@]{0,2}\\{0,3}["'`]))/y;
// The text before a second argument, and before a default for a variable that is not set.
const second = /[ \t]{0,2},[ \t]{0,4}(?=[a-zA-Z@]{0,2}\\{0,3}["'`]|&quot;|&#39;)/y;
const instead = /[ \t]{0,2}\)?[ \t]{0,4}(?:\|\||\?\?|\?:|or[ \t])[ \t]{0,4}(?=[a-zA-Z@]{0,2}\\{0,3}["'`])/y;
// The bracket of a call: `setPassword("…")`.
const call = /\([ \t]{0,2}(?=[a-zA-Z@]{0,2}\\{0,3}["'`])/y;
// A question and its answer in the next line of a chat: `Your password?`, `Sure, it's …`.
const answered = /\?[ \t]{0,2}(?:\r?\n|\\n)(?:[^\s:?]{1,24}:[ \t])?(?:[A-Za-z]{1,8},?[ \t]){0,3}(?:it'?s|it is|is|here:?)[ \t]{1,2}/iy;
// The short form of "is": `the password's …`.
const owned = /['’]s[ \t](?=[^\s])/y;
// A call that types the value, in programs that control a browser: `By.name("password").sendKeys("…")`.
const typing = /\.(?:send_?keys|fill|type|press_sequentially|pressSequentially|set_?value|enter|val)\([ \t]{0,2}(?=["'`])/iy;
// Another attribute, option or line that has the value: `name="password" value="…"`, `secret set TOKEN --body "…"`, `-
// name: TOKEN\n
//
// value: …`.
const attribute =
  /(?:[ \t]{1,4}(?:[\w:-]{1,20}=\\{0,3}["'][^"'<>\n]{0,40}["'][ \t]{1,4}){0,3}(?:value|content|default|defaultValue)|(?:[ \t]{1,4}--[a-z-]{1,20}[ =][^\s"'-][^\s"']{0,30}){0,3}[ \t]{1,4}--(?:body|value|secret-string|plaintext|data)|[ \t]{0,4}(?:\r?\n|\\n)[ \t]{0,16}(?:value|default|Value|ParameterValue))[ \t]{0,2}[ =:][ \t]{0,2}/y;
// Another member of an object that has the value: `{"option": "api_key", "given": "…"}`, `{ name = "API_KEY", value =
// "…" }`.
const pair =
  /,[ \t\r\n]{0,24}(?:\\{0,3}["'](?:value|val|given|text|answer|data|content|default|plaintext)\\{0,3}["']|value)[ \t]{0,2}[:=][ \t]{0,4}(?=\\{0,3}["'])/y;
const block = /[ \t]{0,2}\{[^{}]{0,300}?\bdefault[ \t]{0,12}=[ \t]{0,4}(?=")/y;
const element = /(?:[ \t]{1,2}[\w:.-]{1,24}=["'][^"'<>]{0,40}["']){0,3}[ \t]{0,2}(?:>|&gt;)(?:<!\[CDATA\[)?/y;
// The tags between a name and its value: `<key>…</key><string>`, `<name>…</name><value>`, and
// `name="password"><value>`. `cellElement`: the tags before the next cell or term of a document.
const keyElement = /(?:<\/(?:key|name|Key|Name|option|param-name)>|>)\s{0,40}<(?:string|value|Value|param-value)>/y;
const cellElement = /:?[ \t]{0,2}<\/[\w:]{1,12}>[ \t]{0,2}:?\s{0,40}(?:<\/?[\w:]{1,12}(?:[ \t][^<>]{0,60})?>\s{0,20}){0,3}/y;
// The separator before the next cell: in `| Password | … |`, and in `name,value` at the start of a line.
const nextCell = /[ \t]{0,24}[|\t][ \t]{0,24}|[ \t]{0,2}[,;][ \t]{0,2}/y;
const blank = /[ \t\u00a0\u2000-\u200b\u202f\u205f]{1,24}(?:\d[ \t])?(?=[^\s=:])/y;
const flagName = /(?:^|[\s"'`,[(=|])-{1,2}$|(?:^|[\s"'`])\/$/;

/** Returns the value of the name between `from` and `to`. Null: the name has no value. */
export function valueOfName(text: string, from: number, to: number): Value | null {
  const said = after(owned, text, to);
  if (said > to) return quotedValue(text, said, 'spoken') ?? bareValue(text, said, 'spoken');
  const closed = closerBegins.includes(text.charAt(to)) ? after(closers, text, to) : to;
  const next = text.charAt(closed);
  if (isBlankInLine(text.charCodeAt(closed))) return afterBlank(text, from, to, closed);
  if (isWideNext(text, closed)) return byWords(text, to, closed);
  if (next === '' || !valueBegins.includes(next)) return null;
  if (next === '?') {
    const answer = after(answered, text, closed);
    if (answer > closed) return bareValue(text, answer, 'spoken');
  }
  if (next === '.') return closed === to ? null : quotedValue(text, after(typing, text, closed), 'quoted');
  return inMarkup(text, from, to, closed) ?? bySign(text, from, closed, signNotations) ?? withoutSign(text, from, to, closed);
}

// The characters that may directly follow a name with a value.
const valueBegins = ':=：＝→%\\&-<>(,;|?{.\n\r';
const isWideNext = (text: string, at: number): boolean => isWide(text.charCodeAt(at)) && !'：＝'.includes(text.charAt(at));

// The notations that can directly follow a name, and those that can follow it after a blank.
const signNotations = [attribute, pair, second, instead, call, block] as const;
const blankNotations = [typed, attribute, second, instead, block] as const;

/**
 * Returns the value of a name that a blank follows. In prose and code, a blank and another word follow most names.
 * Therefore this case is checked first.
 */
function afterBlank(text: string, from: number, to: number, closed: number): Value | null {
  const at = blanksEnd(text, closed);
  if (isWideNext(text, at)) return byWords(text, to, closed);
  if (
    closed === to &&
    text[from - 1] !== '<' &&
    isWordStart(text.charCodeAt(at)) &&
    !/^(?:string|String|str|text|varchar|or|by)[ \t(]/.test(text.slice(at, at + 8))
  )
    return withoutSign(text, from, to, closed);
  return inMarkup(text, from, to, closed) ?? bySign(text, from, closed, blankNotations) ?? withoutSign(text, from, to, closed);
}

const isWordStart = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 34 || code === 39;

function blanksEnd(text: string, at: number): number {
  let end = at;
  while (end < at + 24 && isBlankInLine(text.charCodeAt(end))) end += 1;
  return end;
}

function inMarkup(text: string, from: number, to: number, closed: number): Value | null {
  const keyed = after(keyElement, text, closed);
  if (keyed > closed) return elementValue(text, keyed, 'quoted');
  const isTag = text[from - 1] === '<' || text[from - 1] === ':' || text.startsWith('&lt;', from - 4) || closed > to;
  if (isTag && after(attribute, text, closed) === closed) {
    const begin = after(element, text, closed);
    if (begin > closed) return elementValue(text, begin, 'quoted');
  }
  const cell = after(cellElement, text, closed);
  return cell > closed ? elementValue(text, cell, 'spoken') : null;
}

function bySign(text: string, from: number, closed: number, notations: readonly RegExp[]): Value | null {
  const typedEnd = after(typed, text, closed);
  if (typedEnd > closed) return quotedValue(text, typedEnd, 'quoted');
  for (const pattern of notations) {
    const begin = after(pattern, text, closed);
    if (begin === closed || (pattern === second && !closerBegins.includes(text.charAt(closed - 1)))) continue;
    // A text after a comma, a bracket or `or` is less certain to be a value: for example `pass` or `fail`.
    const isSure = pattern !== second && pattern !== call && !(pattern === instead && /\bor\b/.test(text.slice(closed, begin)));
    return quotedValue(text, begin, isSure ? 'quoted' : 'spoken') ?? (pattern === attribute ? bareValue(text, begin, 'flag') : null);
  }
  return afterSign(text, from, closed);
}

function afterSign(text: string, from: number, closed: number): Value | null {
  const begin = after(sign, text, closed);
  if (begin === closed || text.slice(closed, begin).includes('==')) return null;
  const quoted = quotedValue(text, begin, 'quoted');
  if (quoted !== null) return quoted;
  const line = after(newLine, text, begin);
  if (line > begin) return bareValue(text, line, 'spoken');
  const tagged = after(tags, text, begin);
  if (tagged > begin) return elementValue(text, tagged, 'spoken');
  const isTight = '=Dd'.includes(text.charAt(begin - 1)) && isFlagLike(text, from);
  return bareValue(text, begin, isTight ? 'flag' : 'bare');
}

/**
 * Returns whether the name is written like a flag or a setting, and not like code: `-name=`, `NAME=` at the start of a
 * line or word, `?name=`.
 */
const isFlagLike = (text: string, from: number): boolean =>
  from === 0 || '-\n;&?'.includes(text.charAt(from - 1)) || flagName.test(text.slice(Math.max(0, from - 3), from));

/** Returns a value that follows the name without a sign. */
function withoutSign(text: string, from: number, to: number, closed: number): Value | null {
  const gap = after(blank, text, closed);
  const isFlag = gap > closed && flagName.test(text.slice(Math.max(0, from - 3), from));
  if (gap > closed) {
    const quoted = quotedValue(text, gap, isFlag || /^[A-Z]+$/.test(text.slice(from, to)) ? 'quoted' : 'spoken');
    if (quoted !== null) return quoted;
    if (isFlag) return bareValue(text, gap, 'flag');
  }
  const line = after(newLine, text, closed);
  if (line > closed) return /[,;|\t&?=]/.test(text.charAt(from - 1)) ? null : wholeLine(text, line);
  const cell = cellAfter(text, from, closed);
  if (cell !== null) return cell;
  if (closed > to && text[closed - 1] === ')') return null;
  return byWords(text, to, closed) ?? (gap > closed && mayBeStrong(text, gap) ? bareValue(text, gap, 'spoken') : null);
}

function byWords(text: string, to: number, closed: number): Value | null {
  const wide = isWide(text.charCodeAt(to - 1));
  const begin = (wide ? valueAfterWideWords(text, closed) : null) ?? (isWideNext(text, closed) ? null : valueAfterWords(text, closed));
  if (begin !== null) return quotedValue(text, begin, 'spoken') ?? bareValue(text, begin, 'spoken') ?? below(text, begin);
  return wide ? quotedValue(text, closed, 'spoken') : null;
}

/** Returns a value below a line that ends with `is:`. */
function below(text: string, begin: number): Value | null {
  if (text.charAt(begin - 1) !== ':') return null;
  const line = after(newLine, text, begin);
  return line === begin ? null : wholeLine(text, line);
}

/** Returns a value that is alone on the line below its name. */
function wholeLine(text: string, begin: number): Value | null {
  if (!mayBeStrong(text, begin)) return null;
  const value = bareValue(text, begin, 'spoken');
  return value !== null && (after(lineEnds, text, value.end) > value.end || value.end === text.length) ? value : null;
}

/**
 * Returns whether the word that begins at `at` contains anything except small letters. A capital at its beginning does
 * not count.
 */
function mayBeStrong(text: string, at: number): boolean {
  for (let end = at; end < at + 64 && end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code <= 32) return false;
    if (end > at && (code < 97 || code > 122)) return true;
    if (end === at && code < 65) return true;
  }
  return true;
}

function cellAfter(text: string, from: number, closed: number): Value | null {
  const begin = after(nextCell, text, closed);
  if (begin === closed || (/[,;]/.test(text.slice(closed, begin)) && !/(?:^|\n)["']?$/.test(text.slice(Math.max(0, from - 2), from))))
    return null;
  return quotedValue(text, begin, 'spoken') ?? bareValue(text, begin, 'spoken');
}

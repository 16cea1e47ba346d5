// Finds where a value begins and ends from a given position: between quotes, up to the next tag, or up to a character
// that cannot be part of it.
import { isBlankInLine } from './name-span.ts';

export interface Value {
  readonly start: number;
  readonly end: number;
  /**
   * `quoted`: after a sign, and also between quotes or in an element. `bare`: after a sign, without quotes. `flag`: at
   * a place where only a value is possible. `spoken`: after words, in another cell, or after a blank alone.
   */
  readonly form: 'quoted' | 'bare' | 'flag' | 'spoken';
  /** True: the value is longer. `end` is only the end of the part that was read. */
  readonly isCut?: true;
}

/**
 * At first, at most this many characters of a value are read. If a longer value is a finding, the finding continues up
 * to `runEnd`.
 */
const valueLengthMax = 4_096;
// Most values are not longer than this. More text is read only for a longer value that consists of characters of keys.
const shortLength = 200;

/** Returns the end of the match of a pattern at `at`, or `at` if it does not match. */
export function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

const wrapper =
  /(?:new[ \t]{1,2})?(?:(?:os\.environ\.get|os\.getenv|getenv|env|ENV\.fetch|System\.getProperty)\([ \t]{0,2}["'][\w.]{1,40}["'][ \t]{0,2},|(?:String(?:::from)?|[A-Z]?[a-z]{0,10}[Ss]ec(?:ret|ure)\w{0,12}|Some|Just|Ok|str|bytes|Buffer\.from|to_string|text|b64decode|base64\.b64decode|Hash::make|bcrypt|password_hash|(?:make|hash|generate)_password(?:_hash)?|\[\]byte)\()[ \t]{0,2}/y;
const literal = /(?:[NbBfFrRuU@]|rb|br|\$)?(\\{0,7}(?:"""|["'`])|&quot;|&#3[49];|&apos;|%22|%27|%[qQ][({]|[「『“„«‘‹《])[ \u00a0\u202f]?/y;
const literalBegins = '"\'`\\&%NbBfFrRuU@$「『“„«‘‹《';
const closingOf: Readonly<Record<string, string>> = {
  '「': '」',
  '『': '』',
  '“': '”',
  '„': '“',
  '«': '»',
  '‘': '’',
  '‹': '›',
  '《': '》',
  '%q(': ')',
  '%Q(': ')',
  '%q{': '}',
  '%Q{': '}',
};

export function quotedValue(text: string, begin: number, form: Value['form']): Value | null {
  const wrapped =
    (isLetter(text.charCodeAt(begin)) || text.startsWith('[]byte', begin)) && text.slice(begin, begin + 44).includes('(')
      ? after(wrapper, text, begin)
      : begin;
  if (!literalBegins.includes(text.charAt(wrapped))) return null;
  literal.lastIndex = wrapped;
  const quote = literal.exec(text)?.[1];
  if (quote === undefined) return null;
  const start = literal.lastIndex;
  const end = closingAt(text, start, closingOf[quote] ?? quote);
  if (end !== -1) return trimmed(text, start, end, form);
  const window = text.slice(start, start + valueLengthMax);
  return window.length < valueLengthMax || /\s/.test(window) ? null : { start, end: start + valueLengthMax, form, isCut: true };
}

const quotedRun = /[^\s"'`<>\\]*/y;
const keyRun = /[\w+/=.~%-]*/y;

/** Returns the end of a value that may be longer than the part that was read. */
export const runEnd = (text: string, { end, form, isCut }: Value): number =>
  isCut === true ? after(form === 'quoted' ? quotedRun : keyRun, text, end) : end;

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90);

/**
 * Returns where the quote closes, or -1 if it does not close in the same line. A quote with an additional escape is
 * part of the value.
 */
function closingAt(text: string, start: number, quote: string): number {
  const window = text.slice(start, start + valueLengthMax);
  let at = window.indexOf(quote);
  while (at > 0 && window[at - 1] === '\\' && !quote.startsWith('\\')) at = window.indexOf(quote, at + quote.length);
  // Without a closing quote, the rest was cut off or has not arrived yet.
  const end = at === -1 ? window.length : at;
  if (at === -1 && start + end < text.length) return -1;
  return hasLineEnd(window, end) ? -1 : start + end;
}

function hasLineEnd(window: string, end: number): boolean {
  const line = window.indexOf('\n');
  return line !== -1 && line < end;
}

const elementEnd = /<|&lt;|\]\]>/;

/** Returns the text up to the next tag. */
export function elementValue(text: string, begin: number, form: Value['form']): Value | null {
  const end = windowFrom(text, begin, elementEnd).search(elementEnd);
  return end <= 0 ? null : trimmed(text, begin, begin + end, form);
}

function trimmed(text: string, start: number, end: number, form: Value['form']): Value | null {
  let from = start;
  let to = end;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  return from < to ? { start: from, end: to, form } : null;
}

const isBlank = (code: number): boolean => isBlankInLine(code) || code === 10 || code === 13;

// The end of a value without quotes: blanks, quotes, markup, a written `\n`, and `&`, `;` and `,` before another name.
const bareEnd =
  /[\s"'`<>，。；、：「」『』（）“”«»|\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\\[nrtu"'\\]|&(?:quot|amp|lt|gt|#\d+);|%(?:26|0A|0D|22|7D|2C)|&[\w.[\]-]{1,30}=|,[ \t]?["']?[\w\u00c0-\u0cff-]{1,30}["']?[ \t]?[=:]|;[\w\u00c0-\u0cff ]{1,30}=|[,;]\s|\*\*(?![\w*])/;
// A mark that a redaction has put in place of a part of the value.
const mark = /\[redacted:/y;
// The characters of keys, which may be long.
const longKey = /[\w+/=.~%-]{1,4096}/y;
// The beginning of a template or of code, which is not a value without quotes.
const opensCode = /[$#%({]?[{(]|<|\[|&(?:lt|quot|#x3c|#60|#x22|#34);/iy;

/** Returns a value without quotes, from `begin` to its natural end. Null: there is no value. */
export function bareValue(text: string, begin: number, form: Value['form']): Value | null {
  if (isOver(text.charCodeAt(begin)) || (after(opensCode, text, begin) > begin && after(mark, text, begin) === begin)) return null;
  const emphasis = text[begin] === '`' || text[begin] === '*' ? after(/[`*]{1,2}/y, text, begin) : begin;
  const window = windowFrom(text, emphasis, bareEnd);
  const stop = window.search(bareEnd);
  if (stop === -1 && window.length === valueLengthMax) return { start: emphasis, end: emphasis + window.length, form, isCut: true };
  if (stop === 0 || (stop === -1 && emphasis + window.length < text.length)) return null;
  let value = stop === -1 ? window : window.slice(0, stop);
  // In submitted form data, `+` is a blank.
  if (text[begin - 3] === '%' || text[begin - 4] === '%') value = value.replace(/^\+|\+.*$/g, '');
  // `Abc1(으)로`: a grammatical particle in brackets is not part of the value.
  if (value.endsWith('(') && isIdeographic(text.charCodeAt(emphasis + value.length))) value = value.slice(0, -1);
  value = withoutClosing(value);
  // The text is the next attribute or argument, and not a value.
  if (value === '' || (form === 'spoken' && /^-{0,2}[A-Za-z_][\w.-]*=/.test(value))) return null;
  return { start: emphasis, end: emphasis + value.length, form };
}

// Returns whether no value can begin with this character: a blank, a quote, or a letter that is not part of a key.
const isOver = (code: number): boolean => code <= 32 || code === 34 || code === 39 || isIdeographic(code);
const isIdeographic = (code: number): boolean => (code >= 0x3040 && code < 0xa000) || (code >= 0xac00 && code < 0xd7b0);

/** Returns as much text from `begin` on as is needed to find the end of a value. */
function windowFrom(text: string, begin: number, end: RegExp): string {
  const short = text.slice(begin, begin + shortLength);
  if (short.length < shortLength || short.search(end) !== -1) return short;
  const stop = after(longKey, text, begin);
  return stop - begin < shortLength ? short : text.slice(begin, Math.min(stop + 8, begin + valueLengthMax));
}

const openingOf: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };

/** Removes punctuation at the end, and closing brackets that were opened before the value. */
function withoutClosing(value: string): string {
  let end = value.length;
  for (; end > 0; end--) {
    const last = value.charAt(end - 1);
    const open = openingOf[last];
    if (open === undefined ? !'.,;:'.includes(last) : value.includes(open)) break;
  }
  return value.slice(0, end);
}

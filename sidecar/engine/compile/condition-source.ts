// Looks at the text of a condition before it is parsed. It finds what the parser accepts and CEL does not, and what the
// parser would refuse without saying why: a text without its last quote, a bracket without its other one, an escape that
// does not exist. It also bounds how deep the text is nested, because the parser calls itself for each level.
import { conditionBounds } from '@tollgate/proto/contract';
import { lengthOf } from '../conditions/functions/code-points.ts';

/** What is wrong with a condition. `line` and `column` count from 1, columns in code points. */
export interface ConditionProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

/** Returns the problem at an offset in UTF-16 code units. */
export function problemAt(source: string, offset: number, message: string): ConditionProblem {
  const before = source.slice(0, offset).split(/\r\n|\r|\n/);
  return { message, line: before.length, column: lengthOf(before.at(-1) ?? '') + 1 };
}

/** A mistake, with its offset in UTF-16 code units. */
interface Mistake {
  readonly message: string;
  readonly offset: number;
}

/** The text with spaces instead of comments, which the parser accepts only in some places. */
interface Scanned {
  readonly text: string;
}

export function scanCondition(source: string): Scanned | { readonly problem: ConditionProblem } {
  const scanned = new Scan(source).whole();
  return 'text' in scanned ? scanned : { problem: problemAt(source, scanned.offset, scanned.message) };
}

interface Bracket {
  readonly opener: string;
  readonly offset: number;
  /** The `?` since the last comma: each of them nests what follows. */
  questions: number;
}

const closers: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' };
const notText = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\p{Cs}]/u;

class Scan {
  readonly #source: string;
  readonly #brackets: Bracket[] = [{ opener: '', offset: 0, questions: 0 }];
  #depth = 0;
  #text = '';

  constructor(source: string) {
    this.#source = source;
  }

  whole(): Scanned | Mistake {
    const source = this.#source;
    const character = notText.exec(source);
    if (character !== null) return characterMistake(character[0], character.index);
    let at = 0;
    while (at < source.length) {
      const end = this.#next(at);
      if (typeof end !== 'number') return end;
      at = end;
    }
    const open = this.#brackets.at(-1);
    if (open !== undefined && open.opener !== '') return { message: `"${open.opener}" is not closed`, offset: open.offset };
    return { text: this.#text };
  }

  /** Reads one token or character. Returns where it ends. */
  #next(at: number): number | Mistake {
    const source = this.#source;
    const character = source.charAt(at);
    if (source.startsWith('//', at)) return this.#comment(at);
    if (character === '"' || character === "'") return this.#quoted(at, character);
    const mistake = this.#bracket(character, at);
    if (mistake !== null) return mistake;
    this.#text += character;
    return at + 1;
  }

  #comment(at: number): number {
    const length = this.#source.slice(at).search(/[\r\n]|$/);
    this.#text += ' '.repeat(length);
    return at + length;
  }

  #quoted(at: number, quote: string): number | Mistake {
    const end = quotedEnd(this.#source, at, quote);
    if (typeof end === 'number') this.#text += this.#source.slice(at, end);
    return end;
  }

  #bracket(character: string, at: number): Mistake | null {
    const current = this.#brackets.at(-1);
    if (current === undefined) return null;
    switch (character) {
      case '(':
      case '[':
      case '{':
        this.#brackets.push({ opener: character, offset: at, questions: 0 });
        return this.#deeper(at);
      case ')':
      case ']':
      case '}':
        if (current.opener !== closers[character]) return { message: `"${character}" closes nothing`, offset: at };
        this.#brackets.pop();
        this.#depth -= 1 + current.questions;
        return null;
      case '?':
        current.questions += 1;
        return this.#deeper(at);
      case ',':
        this.#depth -= current.questions;
        current.questions = 0;
        return null;
      default:
        return null;
    }
  }

  #deeper(at: number): Mistake | null {
    this.#depth += 1;
    return this.#depth > conditionBounds.depth ? { message: tooDeep, offset: at } : null;
  }
}

export const tooDeep = `must be nested at most ${conditionBounds.depth} deep`;

function characterMistake(character: string, offset: number): Mistake {
  const code = character.charCodeAt(0);
  if (code >= 0xd800 && code < 0xe000) return { message: 'holds half of a surrogate pair', offset };
  const escape = `\\u${code.toString(16).padStart(4, '0')}`;
  return { message: `holds a control character, which is written as "${escape}" in a text`, offset };
}

/** The characters that make the quote after them the start of a raw text or of bytes. */
const prefix = /(?<![A-Za-z0-9_])(?:[rR]|[bB][rR]?)$/;
const escapes = /\\(?:[abfnrtv"'`\\?]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})/y;

/** Returns where a text in quotes ends. */
function quotedEnd(source: string, start: number, quote: string): number | Mistake {
  const isRaw = /[rR]$/.test(prefix.exec(source.slice(Math.max(0, start - 3), start))?.[0] ?? '');
  const isTriple = source.startsWith(quote.repeat(3), start);
  const closing = isTriple ? quote.repeat(3) : quote;
  let at = start + closing.length;
  while (at < source.length) {
    if (source.startsWith(closing, at)) return at + closing.length;
    const character = source.charAt(at);
    if (!isTriple && (character === '\n' || character === '\r')) break;
    if (character !== '\\' || isRaw) {
      at += 1;
      continue;
    }
    escapes.lastIndex = at;
    const escape = escapes.exec(source)?.[0];
    if (escape === undefined) return escapeMistake(source, at);
    if (isNoCharacter(escape)) return { message: `${escape} is no character`, offset: at };
    at += escape.length;
  }
  return { message: `the text that begins with ${closing} does not end${isTriple ? '' : ' on its line'}`, offset: start };
}

function escapeMistake(source: string, offset: number): Mistake {
  const [next = ''] = source.slice(offset + 1);
  const words = next === '' ? '"\\" at the end is no escape' : `"\\${next}" is no escape`;
  return { message: `${words}; write "\\\\" for a backslash, or a raw text as in r"\\d+"`, offset };
}

/** Whether an escape stands for half of a surrogate pair, or for a number above U+10FFFF. */
function isNoCharacter(escape: string): boolean {
  if (!/^\\[uU]/.test(escape)) return false;
  const code = Number.parseInt(escape.slice(2), 16);
  return code > 0x10_ffff || (code >= 0xd800 && code < 0xe000);
}

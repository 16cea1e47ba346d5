// Reads the text of a word of bash, as far as it is known before the line runs. It is strict: a form of which bash
// versions or locales have different opinions is not known.
import type { Word, WordPart } from 'unbash';

/** A word that is known only when the line runs. */
export interface OpenWord {
  /** False: it may become several words, or none. */
  readonly isOneWord: boolean;
  /** How it begins. Empty: nothing is known of it, or of the words that follow from it. */
  readonly start: string;
}

/** A word of a line. A text: it is this one word. */
export type LineWord = string | OpenWord;

export const isText = (word: LineWord | undefined): word is string => typeof word === 'string';

/** Whether a word that is known only when the line runs may be an option, or several words. */
export const mayBeOption = ({ start }: OpenWord): boolean => start === '' || start.startsWith('-');

const several: OpenWord = { isOneWord: false, start: '' };
const one: OpenWord = { isOneWord: true, start: '' };
/** Parameters that are numbers. The process of the last job is no word if there was no job. */
const numbers: ReadonlyMap<string, OpenWord> = new Map([
  ['$?', { isOneWord: true, start: '0' }],
  ['$#', { isOneWord: true, start: '0' }],
  ['$$', { isOneWord: true, start: '0' }],
  ['$!', { isOneWord: false, start: '0' }],
]);

/** Returns the text of a word, or what is known of it. */
export function readWord(word: Word): LineWord {
  const { text, parts } = word;
  const isSeveral = parts?.some(mayBeSeveral) === true || !isPlain(unquotedText(word));
  if (isSeveral) return (parts?.length === 1 ? numbers.get(text) : undefined) ?? several;
  // bash replaces a tilde at the beginning, and after `:` and `=`, with a folder.
  if (/(?:^|[:=])~/.test(text.replaceAll('\\\n', ''))) return one;
  const open = parts?.findIndex((part) => fixedText(part) === null) ?? -1;
  return parts === undefined || open === -1 ? word.value : { isOneWord: true, start: parts.slice(0, open).map(fixedText).join('') };
}

/** Returns what a part stands for. Null: it is known only when the line runs. */
function fixedText(part: WordPart): string | null {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
      return part.value;
    case 'AnsiCQuoted':
      return isCertainEscape.test(part.text) ? part.value : null;
    case 'DoubleQuoted':
      return part.parts.every((child) => child.type === 'Literal') ? part.parts.map((child) => child.value).join('') : null;
    default:
      return null;
  }
}

/** Escapes of `$'…'` that every bash reads alike. `\u` depends on the locale, and `\x{…}` and `\c` on the version. */
const isCertainEscape = /^\$'(?:[^\\']|\\(?:[\\'"?abeEfnrtv]|x(?!00)[0-7][\da-fA-F]|(?!000)[01][0-7][0-7]))*'$/;

/** Only an expansion in quotes is one word; and not even that, if it is of all arguments or of an array. */
function mayBeSeveral(part: WordPart): boolean {
  switch (part.type) {
    case 'Literal':
    case 'SingleQuoted':
    case 'AnsiCQuoted':
      return false;
    case 'DoubleQuoted':
    case 'LocaleString':
      return part.parts.some(({ type, text }) => (type === 'SimpleExpansion' || type === 'ParameterExpansion') && isUncertain(text));
    default:
      return true;
  }
}

/** bash searches for `{a,b}` before it expands, and then quotes inside of `${…}` end those around it. */
const isUncertain = (expansion: string): boolean => /[@[]/.test(expansion) || /"[^]*\{|\{[^]*"/.test(expansion.slice(2));

/** Returns the text outside of quotes. A quoted character, and a part that is no text, is replaced by `_`. */
function unquotedText({ text, parts }: Word): string {
  const unquoted = parts?.map((part) => (part.type === 'Literal' ? part.text : '_')).join('') ?? text;
  return unquoted.replaceAll(/\\[^]/g, '_');
}

/**
 * Whether bash leaves text outside of quotes as it is: no pattern of file names, no `{a,b}`, and nothing that the parser
 * should have made a part of its own.
 */
function isPlain(unescaped: string): boolean {
  if (unescaped === '[' || unescaped === '[[') return true;
  if (/[*?[$`'"]/.test(unescaped)) return false;
  let depth = 0;
  for (let at = 0; at < unescaped.length; at += 1) {
    const character = unescaped[at];
    if (character === '{') depth += 1;
    else if (character === '}') depth = Math.max(0, depth - 1);
    else if (depth > 0 && (character === ',' || unescaped.startsWith('..', at))) return false;
  }
  return true;
}

// Says in words what a person could overlook in the input of a call, although it is printed: characters that are not seen
// (they are printed as escapes), long runs of blanks, and letters that look like others.
import { isRow } from '../api/answer.ts';
import { pathWithin, shortJson } from './brief.ts';
import { escapeUnits, unseenIn, visibleText } from './escape.ts';

/** A text of the input, and the words for its place. */
interface Place {
  readonly text: string;
  readonly where: string;
}

const warningsMax = 20;
/** Half a line of a terminal: a shorter run moves nothing out of sight. Blanks that are not spaces are printed as escapes. */
const longBlanks = / {40,}/g;

/** Returns the warnings about an input, those about characters first. More than 20 are counted in a last one. */
export function warningsOf(input: unknown, path = ''): readonly string[] {
  const places = placesIn(input, path);
  const all = [...new Set([...places.flatMap(unseenWarning), ...places.flatMap(({ text }) => lookalikesIn(text))])];
  return all.length <= warningsMax ? all : [...all.slice(0, warningsMax), `and ${all.length - warningsMax} more warnings like these`];
}

/** All names and texts of a value. */
function placesIn(value: unknown, path: string): readonly Place[] {
  if (typeof value === 'string') return [{ text: value, where: path === '' ? 'the input' : shortJson(path) }];
  if (Array.isArray(value)) return value.flatMap((one, at) => placesIn(one, pathWithin(path, at)));
  if (!isRow(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    { text: name, where: `the name ${shortJson(name)}` },
    ...placesIn(one, pathWithin(path, name)),
  ]);
}

function unseenWarning({ text, where }: Place): readonly string[] {
  const unseen = unseenIn(text.replaceAll(emojiParts, ''));
  const parts = [...kinds, others].flatMap((kind) => {
    const characters = unseen.filter((one) => kindOf(one) === kind);
    return characters.length === 0 ? [] : [`${characters.length} ${characters.length === 1 ? kind.one : kind.many} (${named(characters)})`];
  });
  const all = [...parts, ...blanksIn(text)];
  return all.length === 0 ? [] : [`${all.join(' and ')} in ${where}`];
}

interface Kind {
  readonly test: RegExp;
  readonly one: string;
  readonly many: string;
}

const kinds: readonly Kind[] = [
  {
    test: /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u,
    one: 'character that changes the direction of text',
    many: 'characters that change the direction of text',
  },
  { test: /\p{Cc}/u, one: 'control character', many: 'control characters' },
  { test: /[\p{Zs}\u2800]/u, one: 'blank that is not a space', many: 'blanks that are not spaces' },
];
const others: Kind = { test: /./su, one: 'character that cannot be seen', many: 'characters that cannot be seen' };

const kindOf = (character: string): Kind => kinds.find(({ test }) => test.test(character)) ?? others;

/** What joins and colours the parts of an emoji. It is printed as an escape, and deserves no warning. */
const emojiParts =
  /(?<=\p{Extended_Pictographic})\ufe0f|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu;

function named(characters: readonly string[]): string {
  const distinct = [...new Set(characters)];
  return `${distinct.slice(0, 3).map(escapeUnits).join(', ')}${distinct.length > 3 ? ', ...' : ''}`;
}

function blanksIn(text: string): readonly string[] {
  const lengths = [...text.matchAll(longBlanks)].map(([run]) => run.length);
  if (lengths.length === 0) return [];
  return [lengths.length === 1 ? `a run of ${lengths[0]} blanks` : `${lengths.length} runs of up to ${Math.max(...lengths)} blanks`];
}

const letters = /[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
/** Scripts with letters that look like Latin ones. */
const likeLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;

/** Words whose letters are not what they look like: Latin mixed with another script, or other forms of ASCII letters. */
function lookalikesIn(text: string): readonly string[] {
  if (isAscii(text)) return [];
  return [...text.matchAll(letters)].flatMap(([word]) => {
    if (latin.test(word) && likeLatin.test(word)) return [`a word mixes letters that look alike: ${spelled(word)}`];
    return Array.from(word).some((one) => !isAscii(one) && isAscii(one.normalize('NFKC')))
      ? [`a word has other forms of plain letters: ${spelled(word)}`]
      : [];
  });
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

const spelled = (word: string): string =>
  `${visibleText(word)} (${Array.from(word.slice(0, 60))
    .map((one) => (isAscii(one) ? one : `\\u{${one.codePointAt(0)?.toString(16) ?? ''}}`))
    .join('')})`;

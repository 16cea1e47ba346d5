// Finds what a person could overlook in a text from outside: characters that are not drawn, that change the order of
// others, or that look like others, and long runs of blanks. Pure.

/**
 * Characters that a screen may show as nothing, as a blank, or in another order: control, format, private and unassigned
 * characters, halves of pairs, separators other than the space, what fonts leave out, and the blank of braille.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Joins and colours the parts of an emoji. */
const emojiParts =
  /(?<=\p{Extended_Pictographic})\ufe0f|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})/gu;

/** The code point of a character, such as `U+202E`. */
export const codePointOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

export interface Part {
  readonly text: string;
  readonly isUnseen: boolean;
  /** One letter that looks like another one. */
  readonly isAlike?: true;
}

/**
 * Splits a text at its characters that are not seen, and at letters that look like others. Each of them is a part. `keep`:
 * characters that are left in place. `isJson`: the letter of an escape such as `\n` is no part of the word after it.
 */
export function partsOf(text: string, keep = '', isJson = false): readonly Part[] {
  const hidden = [...text.matchAll(unseen)]
    .filter(([character]) => !keep.includes(character))
    .map(({ 0: character, index }): MarkedPart => ({ index, part: { text: character, isUnseen: true } }));
  const alike = alikeIn(text, isJson).map(
    ({ text: letter, index }): MarkedPart => ({
      index,
      part: { text: letter, isUnseen: false, isAlike: true },
    }),
  );
  const parts: Part[] = [];
  let from = 0;
  for (const { index, part } of alike.length === 0 ? hidden : [...hidden, ...alike].toSorted((a, b) => a.index - b.index)) {
    if (index < from) continue;
    if (index > from) parts.push({ text: text.slice(from, index), isUnseen: false });
    parts.push(part);
    from = index + part.text.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isUnseen: false });
  return parts;
}

interface MarkedPart {
  readonly index: number;
  readonly part: Part;
}

/** Replaces characters that are not seen by their code points, such as `U+202E`. For titles and labels. */
export const visible = (text: string): string =>
  partsOf(text)
    .map((part) => (part.isUnseen ? `⟨${codePointOf(part.text)}⟩` : part.text))
    .join('');

const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const lineBreaks = '\t\n\r';

interface Kind {
  readonly test: (character: string) => boolean;
  readonly one: string;
  readonly many: string;
}

const kinds: readonly Kind[] = [
  {
    test: (one) => turning.test(one),
    one: 'character that changes the direction of text',
    many: 'characters that change the direction of text',
  },
  { test: (one) => /\p{Cc}/u.test(one), one: 'control character', many: 'control characters' },
  { test: (one) => /[\p{Zs}\u2800]/u.test(one), one: 'blank that is not a space', many: 'blanks that are not spaces' },
  { test: () => true, one: 'character that cannot be seen', many: 'characters that cannot be seen' },
];

/** A run that moves what follows it out of sight. */
const longBlanks = / {40,}/g;
/** Texts longer than this are searched to here only, which is said. */
const searchedLength = 200_000;

/** Returns what deserves a second look in one text, in words for people. Empty: nothing. */
export function oddIn(text: string): readonly string[] {
  const searched = text.slice(0, searchedLength);
  const characters = (searched.replaceAll(emojiParts, '').match(unseen) ?? []).filter((one) => !lineBreaks.includes(one));
  const counted = kinds.flatMap((kind) => {
    const same = characters.filter((one) => kinds.find(({ test }) => test(one)) === kind);
    if (same.length === 0) return [];
    const distinct = [...new Set(same)];
    const named = distinct.slice(0, 3).map(codePointOf).join(', ');
    return [`${same.length.toLocaleString()} ${same.length === 1 ? kind.one : kind.many} (${named}${distinct.length > 3 ? ', …' : ''})`];
  });
  return [...counted, ...blanksIn(searched), ...lookalikesIn(searched)];
}

function blanksIn(text: string): readonly string[] {
  const lengths = [...text.matchAll(longBlanks)].map(([run]) => run.length);
  if (lengths.length === 0) return [];
  return [lengths.length === 1 ? `a run of ${lengths[0] ?? 0} blanks` : `${lengths.length} runs of up to ${Math.max(...lengths)} blanks`];
}

const words = /[\p{L}\p{M}\p{N}]+/gu;
/** An escape of JSON, which is skipped, is matched by itself and has only ASCII characters. */
const wordsOfJson = /\\(?:u[0-9a-f]{4}|["\\/bfnrt])|[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
const likeLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;
const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
const lookalikesMax = 5;

interface OddWord {
  readonly letters: readonly { readonly text: string; readonly index: number }[];
  readonly isMixed: boolean;
}

/** Words whose letters are not what they look like: Latin mixed with another script, or other forms of plain letters. */
function* oddWordsIn(text: string, isJson: boolean): Generator<OddWord> {
  if (isAscii(text)) return;
  for (const { 0: word, index } of text.matchAll(isJson ? wordsOfJson : words)) {
    if (isAscii(word)) continue;
    const isMixed = latin.test(word) && likeLatin.test(word);
    const letters = lettersOf(word, index).filter(({ text: one }) =>
      isMixed ? likeLatin.test(one) || isOtherForm(one) : isOtherForm(one),
    );
    if (letters.length > 0) yield { letters, isMixed };
  }
}

const isOtherForm = (letter: string): boolean => !isAscii(letter) && isAscii(letter.normalize('NFKC'));

function lettersOf(word: string, start: number): OddWord['letters'] {
  let index = start;
  return Array.from(word, (text) => {
    const at = index;
    index += text.length;
    return { text, index: at };
  });
}

const alikeIn = (text: string, isJson: boolean): OddWord['letters'] => [...oddWordsIn(text, isJson)].flatMap(({ letters }) => letters);

function lookalikesIn(text: string): readonly string[] {
  const found = new Set<string>();
  for (const { letters, isMixed } of oddWordsIn(text, false)) {
    if (found.size >= lookalikesMax) break;
    const points = pointsOf(letters.map((one) => one.text));
    found.add(
      isMixed ? `a word that mixes letters of scripts that look alike (${points})` : `a word with other forms of plain letters (${points})`,
    );
  }
  return [...found];
}

const pointsOf = (characters: readonly string[]): string => [...new Set(characters)].slice(0, 4).map(codePointOf).join(', ');

export interface Oddity {
  /** Where in the value, as a path of names and positions. Empty: the value itself. */
  readonly path: string;
  readonly what: readonly string[];
}

/** A text that looks like a mark of redaction. */
const markLike = /[[<({]\s*(?:redacted|secret|hidden|masked|removed|tollgate)\b[^\]>)}]{0,80}[\]>)}]/iu;
const ourMark = /^\[redacted:[a-z][a-z0-9_]{0,39}(?:#[1-9]\d{0,8})?\]$/u;

export const odditiesMax = 20;

/** Returns what is odd in a JSON value: in its texts and in its names. At most 21, so that a reader knows of more. */
export function odditiesIn(value: unknown): readonly Oddity[] {
  const found: Oddity[] = [];
  const look = (text: string, path: string): void => {
    const mark = markLike.exec(text)?.[0];
    const what = [
      ...oddIn(text),
      ...(mark === undefined || ourMark.test(mark) ? [] : ['a text that looks like a mark of Tollgate, and is none']),
    ];
    if (what.length > 0) found.push({ path, what });
  };
  const visit = (one: unknown, path: string): void => {
    if (found.length > odditiesMax) return;
    if (typeof one === 'string') look(one, path);
    else if (Array.isArray(one)) for (const [at, item] of one.entries()) visit(item, `${path}[${at}]`);
    else if (typeof one === 'object' && one !== null) {
      for (const [name, item] of Object.entries(one)) {
        const within = path === '' ? name : `${path}.${name}`;
        look(name, within);
        visit(item, within);
      }
    }
  };
  visit(value, '');
  return found;
}

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
}

/** Splits a text at its characters that are not seen. Each of them is a part. `keep`: characters that are left in place. */
export function partsOf(text: string, keep = ''): readonly Part[] {
  const parts: Part[] = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(unseen)) {
    if (keep.includes(character)) continue;
    if (index > from) parts.push({ text: text.slice(from, index), isUnseen: false });
    parts.push({ text: character, isUnseen: true });
    from = index + character.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isUnseen: false });
  return parts;
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
const latin = /\p{Script=Latin}/u;
const likeLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u;
const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
const lookalikesMax = 5;

/** Words whose letters are not what they look like: Latin mixed with another script, or other forms of plain letters. */
function lookalikesIn(text: string): readonly string[] {
  if (isAscii(text)) return [];
  const found = new Set<string>();
  for (const [word] of text.matchAll(words)) {
    if (found.size >= lookalikesMax) break;
    if (isAscii(word)) continue;
    const odd = Array.from(word).filter((one) => !isAscii(one));
    if (latin.test(word) && likeLatin.test(word)) found.add(`a word that mixes letters of scripts that look alike (${pointsOf(odd)})`);
    else if (odd.some((one) => isAscii(one.normalize('NFKC')))) found.add(`a word with other forms of plain letters (${pointsOf(odd)})`);
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

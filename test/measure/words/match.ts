// Finds listed words in a text: prose, an identifier or a file name. Called by count.ts.
import type { ListedWord } from './list.ts';

/** The listed words in a text, each as often as it occurs. */
export type FindWords = (text: string) => readonly string[];

interface Part {
  readonly text: string;
  /** Between it and the previous part is nothing that separates phrases. */
  readonly follows: boolean;
}

interface Form {
  readonly word: string;
  readonly parts: readonly string[];
  readonly counts: boolean;
}

export function createFindWords(list: readonly ListedWord[]): FindWords {
  const formsByFirst = new Map<string, Form[]>();
  for (const { word, forms, except } of list) {
    for (const [texts, counts] of [[forms, true] as const, [except, false] as const]) {
      for (const text of texts) {
        const parts = text.toLowerCase().split(' ');
        const [first = ''] = parts;
        formsByFirst.set(first, [...(formsByFirst.get(first) ?? []), { word, parts, counts }]);
      }
    }
  }
  // The longest first: a phrase is found before a word that is its beginning.
  for (const forms of formsByFirst.values()) forms.sort((one, other) => other.parts.length - one.parts.length);
  return (text) => {
    const parts = splitText(text);
    const found: string[] = [];
    for (let at = 0; at < parts.length; ) {
      const form = formsByFirst.get(parts[at]?.text ?? '')?.find((one) => standsAt(one.parts, parts, at));
      if (form?.counts === true) found.push(form.word);
      at += form?.parts.length ?? 1;
    }
    return found;
  };
}

const standsAt = (wanted: readonly string[], parts: readonly Part[], at: number): boolean =>
  wanted.every((text, index) => {
    const part = parts[at + index];
    return part?.text === text && (index === 0 || part.follows);
  });

/** Words of prose, and the parts of camelCase, kebab-case and snake_case, in lower case. */
function splitText(text: string): readonly Part[] {
  let end = 0;
  return [...text.matchAll(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+/gu)].map(({ 0: part, index }) => {
    // A phrase may continue on the next line of a comment, which begins with its own mark.
    const follows = /^[\s_\-*#/]*$/.test(text.slice(end, index));
    end = index + part.length;
    return { text: part.toLowerCase(), follows };
  });
}

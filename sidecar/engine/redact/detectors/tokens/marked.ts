// Finds secrets with the issuer's mark in the middle or at the end. The text before the mark has a known length and
// known letters.
import { startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { isDrawn } from './drawn.ts';
import { type Letters, lengthBefore, lettersOf } from './letters.ts';
import { runMax, wholeRest } from './token.ts';

/** The characters before a mark. `of` matches one character. There are `min` to `max` of them. */
export interface Behind {
  readonly of: RegExp;
  readonly min: number;
  readonly max: number;
}

/** `isReal`: returns whether the whole text is a real secret. If it is absent, the text must look generated. */
export type MarkedForm = readonly [behind: Behind, mark: string, rest: RegExp, isReal?: (whole: string) => boolean];

interface CompiledForm extends Omit<Behind, 'of'> {
  readonly letters: Letters;
  readonly mark: string;
  readonly rest: RegExp;
  readonly isReal: (whole: string) => boolean;
}

const compile = ([{ of, min, max }, mark, rest, isReal = isDrawn]: MarkedForm): CompiledForm => ({
  letters: lettersOf(of),
  min,
  max,
  mark,
  rest: wholeRest(rest),
  isReal,
});

/** `after`: the maximum length of a mark and the text after it, together. */
export function markedDetector(kind: string, after: number, forms: readonly MarkedForm[]): Detector {
  const byMark = new Map(forms.map((form) => [form[1].toLowerCase(), compile(form)]));
  return {
    kind,
    anchors: [...byMark.keys()],
    reach: { before: Math.max(...forms.map(([{ max }]) => max)) + runMax, after },
    find: (text, at, end, found) => {
      const form = byMark.get(text.slice(at, end).toLowerCase());
      if (form === undefined || !text.startsWith(form.mark, at)) return;
      const start = startBehind(form, text, at);
      if (start === -1) return;
      form.rest.lastIndex = end;
      if (!form.rest.test(text)) return;
      const stop = form.rest.lastIndex;
      if (form.isReal(text.slice(start, stop))) found(start, stop);
    },
  };
}

/**
 * Returns the start of the secret whose mark is at `at`. Returns -1 if the text before the mark does not have the right
 * form.
 */
function startBehind({ letters, min, max }: CompiledForm, text: string, at: number): number {
  for (let length = lengthBefore(text, at, letters, max); length >= min; length--) {
    const start = at - length;
    if (startsWord(text, start)) return lengthBefore(text, start, letters, runMax) === runMax ? -1 : start;
  }
  return -1;
}

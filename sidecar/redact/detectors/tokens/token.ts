// Secrets that show what they are by their form: a prefix that the issuer gave them, and a drawn part of known length and
// letters. The tables beside this file say the forms; each kind has one.
import { startsWord } from '../../boundary.ts';
import type { Detector, Found } from '../../detector.ts';
import { isDrawn } from './drawn.ts';
import { type Letters, lengthBefore, lettersWithin } from './letters.ts';

interface FormOptions {
  /** Whether what follows the prefix is that of a real one; otherwise it must look drawn. */
  readonly isReal?: (drawn: string) => boolean;
  /** A second secret that people write soon after the first, and whether one is real; otherwise it must look drawn. */
  readonly partner?: readonly [secret: RegExp, isReal?: (secret: string) => boolean];
}

/**
 * What begins every one, in these letters, and what follows, of bounded length. A group ends what follows and is what is
 * replaced; without one it is all of it, with the prefix.
 */
export type Form = readonly [prefix: string, rest: RegExp, options?: FormOptions];

interface CompiledForm {
  readonly prefix: string;
  readonly rest: RegExp;
  /** Whether another of the form may follow without anything between. */
  readonly isGluable: boolean;
  readonly isReal: (drawn: string) => boolean;
  readonly partner: { readonly pattern: RegExp; readonly isReal: (secret: string) => boolean } | null;
}

/** The forms that begin alike, whatever the case of the letters. */
interface Group {
  readonly forms: readonly CompiledForm[];
  /** What they are a part of where much of it stands before. */
  readonly run: Letters;
}

/** A secret stands in quotes, after a separator, or after one that is escaped. */
export const afterBreak = String.raw`(?<=[^A-Za-z0-9+/]|%(?:25)?[0-9A-Fa-f]{2}|\\[nrt]|\\u00[0-9A-Fa-f]{2})`;
const partnerDistance = 60;
// What names something else that is drawn like a second secret: `SCW_ORG=<uuid>`.
const harmlessPartner = /(?:org(?:anization)?|project|tenant|account|user|trace|request)(?:[_-]?id)?["'`\s:=]{1,6}$/i;

/** What stands in so long a run of its own letters is a piece of something else; so nothing is looked through again and again. */
export const runMax = 24;

export const wholeRest = (rest: RegExp): RegExp => new RegExp(`(?:${rest.source})(?![A-Za-z0-9])`, 'y');

// Shorter ones end many a word.
const gluedPrefixMin = 4;

/** Up to the next of its form too. */
const gluableRest = (prefix: string, rest: RegExp): RegExp =>
  new RegExp(`(?:${rest.source})(?:(?![A-Za-z0-9])|(?=${prefix.replaceAll(/[^\w]/g, '\\$&')}))`, 'y');

const compile = ([prefix, rest, { isReal = isDrawn, partner } = {}]: Form): CompiledForm => ({
  prefix,
  rest: prefix.length < gluedPrefixMin ? wholeRest(rest) : gluableRest(prefix, rest),
  isGluable: prefix.length >= gluedPrefixMin,
  isReal,
  partner:
    partner === undefined
      ? null
      : {
          pattern: new RegExp(`[^]{1,${partnerDistance}}?${afterBreak}(${partner[0].source})(?![A-Za-z0-9+/])`, 'y'),
          isReal: partner[1] ?? isDrawn,
        },
});

/** `after`: the longest of them, and what may stand between partners. */
export function tokenDetector(kind: string, after: number, forms: readonly Form[]): Detector {
  const groups = new Map<string, Group>();
  for (const anchor of new Set(forms.map(([prefix]) => prefix.toLowerCase()))) {
    const alike = forms.filter(([prefix]) => prefix.toLowerCase() === anchor);
    groups.set(anchor, { forms: alike.map(compile), run: lettersWithin(alike.map(([, rest]) => rest)) });
  }
  return {
    kind,
    anchors: [...groups.keys()],
    reach: { before: runMax, after },
    find: (text, at, end, found) => {
      if (!startsWord(text, at)) return;
      const group = groups.get(text.slice(at, end).toLowerCase());
      if (group === undefined || lengthBefore(text, at, group.run, runMax) === runMax) return;
      for (const form of group.forms) if (text.startsWith(form.prefix, at) && findForm(form, text, at, end, found)) return;
    },
  };
}

function findForm(form: CompiledForm, text: string, at: number, end: number, found: Found): boolean {
  const { rest, isReal, partner } = form;
  rest.lastIndex = end;
  const match = rest.exec(text);
  if (match === null) return false;
  const stop = rest.lastIndex;
  const [drawn, secret] = match;
  if (!isReal(secret ?? drawn)) return false;
  found(secret === undefined ? at : stop - secret.length, secret === undefined ? gluedEnd(form, text, end, stop) : stop);
  if (partner === null) return true;
  partner.pattern.lastIndex = stop;
  const second = partner.pattern.exec(text)?.[1];
  if (second === undefined || !partner.isReal(second)) return true;
  if (!harmlessPartner.test(text.slice(stop, partner.pattern.lastIndex - second.length)))
    found(partner.pattern.lastIndex - second.length, partner.pattern.lastIndex);
  return true;
}

/** Where the last one ends of those that follow without anything between; what seems to end the first may begin the second. */
function gluedEnd({ prefix, rest, isReal, isGluable }: CompiledForm, text: string, begun: number, end: number): number {
  let stop = end;
  for (let from = begun; isGluable; ) {
    const next = prefixAt(text, prefix, Math.max(from, stop - prefix.length + 1), stop);
    if (next === -1) break;
    from = next + prefix.length;
    rest.lastIndex = from;
    const match = rest.exec(text);
    if (match === null || rest.lastIndex <= stop || !isReal(match[0])) break;
    stop = rest.lastIndex;
  }
  return stop;
}

function prefixAt(text: string, prefix: string, from: number, to: number): number {
  for (let at = from; at <= to; at++) if (text.startsWith(prefix, at)) return at;
  return -1;
}

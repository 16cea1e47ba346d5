// Finds secrets with a form of their own: a prefix from the issuer, and a generated part of known length and letters.
// The tables in this folder list the forms, with one table for each kind.
import { startsWord } from '../../boundary.ts';
import type { Detector, MatchReporter } from '../../detector.ts';
import { isDrawn } from './drawn.ts';
import { type Letters, lengthBefore, lettersWithin } from './letters.ts';

interface FormOptions {
  /** Returns whether the text after the prefix is a real secret. If this is absent, the text must look generated. */
  readonly isReal?: (drawn: string) => boolean;
  /**
   * The pattern of a second secret that people write soon after the first, and a function that returns whether it is
   * real. Without the function, the second secret must look generated.
   */
  readonly partner?: readonly [secret: RegExp, isReal?: (secret: string) => boolean];
}

/**
 * A secret consists of the prefix and the rest. The prefix must have exactly these letters, in the same case. The rest
 * has a bounded length. If `rest` has a group, the match ends with the group, and only the group is replaced. Without a
 * group, the whole secret is replaced, with its prefix.
 */
export type Form = readonly [prefix: string, rest: RegExp, options?: FormOptions];

interface CompiledForm {
  readonly prefix: string;
  readonly rest: RegExp;
  /** Whether another secret of the same form may follow directly, without a separator. */
  readonly isGluable: boolean;
  readonly isReal: (drawn: string) => boolean;
  readonly partner: { readonly pattern: RegExp; readonly isReal: (secret: string) => boolean } | null;
}

/** The forms whose prefixes are equal or differ only in upper and lower case. */
interface Group {
  readonly forms: readonly CompiledForm[];
  /** If a long run of these letters precedes the prefix, the prefix is part of that run. */
  readonly run: Letters;
}

/** Matches the position before a secret: after a quote or another separator, or after an escaped separator. */
export const afterBreak = String.raw`(?<=[^A-Za-z0-9+/]|%(?:25)?[0-9A-Fa-f]{2}|\\[nrt]|\\u00[0-9A-Fa-f]{2})`;
const partnerDistance = 60;
// Names of other generated values that can look like a second secret: `SCW_ORG=<uuid>`.
const harmlessPartner = /(?:org(?:anization)?|project|tenant|account|user|trace|request)(?:[_-]?id)?["'`\s:=]{1,6}$/i;

/**
 * If at least this many letters of the run precede a prefix, the prefix is part of something else and is skipped.
 * Without this rule, a long run would be read many times.
 */
export const runMax = 24;

export const wholeRest = (rest: RegExp): RegExp => new RegExp(`(?:${rest.source})(?![A-Za-z0-9])`, 'y');

// Secrets may follow each other directly only if their prefix has at least this length. Many words end with a shorter
// prefix.
const gluedPrefixMin = 4;

/** Returns the pattern of a rest that may also end where the next secret of the form begins. */
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

/** `after`: the maximum length of a secret of these forms, including the text up to its partner. */
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

function findForm(form: CompiledForm, text: string, at: number, end: number, found: MatchReporter): boolean {
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

/**
 * Returns where the last of several directly joined secrets ends. The apparent end of the first one may be the
 * beginning of the second.
 */
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

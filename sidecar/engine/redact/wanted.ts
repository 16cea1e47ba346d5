// Finds what the tool of a call must not receive, and does not change what the tool may receive.
import type { Finder, Finding, KnownValues } from './finder.ts';
import type { Work } from './work.ts';

export interface Finders {
  /** Kinds that are kept unchanged. */
  readonly passed: ReadonlySet<string>;
  /** The kinds whose marks are recognised as marks. */
  readonly marked: ReadonlySet<string>;
  readonly wanted: Finder;
  /** The finder for the kept kinds. Null: there are no kept kinds. */
  readonly unwanted: Finder | null;
}

export interface WantedFindings {
  readonly found: readonly Finding[];
  /** The findings that are kept unchanged. */
  readonly left: readonly Finding[];
}

const none: readonly Finding[] = [];

/**
 * Returns what must be replaced (`found`) and what is kept (`left`). If a kept token is also the value of a name for
 * passwords or secrets, the token is not reported as such a value.
 */
export function findWanted({ wanted, unwanted }: Finders, text: string, from: number, known: KnownValues, work: Work): WantedFindings {
  const found = wanted.find(text, from, known, work);
  const left = unwanted?.find(text, from, known, work) ?? none;
  if (left.length === 0 || found.length === 0) return { found, left };
  return { found: found.filter((one) => !isNamed(one) || !left.some(({ start, end }) => start <= one.start && one.end <= end)), left };
}

/** Returns whether a value was found by the text next to it, and not by its own form. */
const isNamed = ({ kind }: Finding): boolean => kind === 'password' || kind === 'secret';

// Finds what a call's tool may not have, and leaves what it may.
import type { Finder, Finding, Known } from './finder.ts';
import type { Work } from './work.ts';

export interface Finders {
  /** Kinds that are left as they are. */
  readonly passed: ReadonlySet<string>;
  /** Kinds whose marks are marks. */
  readonly marked: ReadonlySet<string>;
  readonly wanted: Finder;
  /** Of the kinds that are left; null where there are none. */
  readonly unwanted: Finder | null;
}

export interface Wanted {
  readonly found: readonly Finding[];
  /** What is left as it is. */
  readonly left: readonly Finding[];
}

const none: readonly Finding[] = [];

/** A token that may stay is not taken for the name beside it. */
export function findWanted({ wanted, unwanted }: Finders, text: string, from: number, known: Known, work: Work): Wanted {
  const found = wanted.find(text, from, known, work);
  const left = unwanted?.find(text, from, known, work) ?? none;
  if (left.length === 0 || found.length === 0) return { found, left };
  return { found: found.filter((one) => !isNamed(one) || !left.some(({ start, end }) => start <= one.start && one.end <= end)), left };
}

/** Found by what stands beside it, not by its own form. */
const isNamed = ({ kind }: Finding): boolean => kind === 'password' || kind === 'secret';

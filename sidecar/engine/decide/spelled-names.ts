// Finds tool names by the spellings that hosts make of them. Hosts replace characters of a name with `_` or `-`, join
// the name with a server's name, and shorten it. None of this changes the ASCII letters and digits that remain.
// Therefore names are indexed by their letters and digits only. A lookup finds all names that a spelling can mean, and
// some that it cannot mean. The index is built together with the document or the list of servers that contains the
// names.
import { wildcardPrefix } from '@tollgate/proto/contract';

/** Names and wildcards, each indexed by its letters and digits. */
export interface SpelledNames {
  /** Whole names, by their letters and digits. */
  readonly exact: ReadonlyMap<string, readonly string[]>;
  /** Wildcards with their `*`, by the letters and digits before the `*`. */
  readonly wildcards: ReadonlyMap<string, readonly string[]>;
  /** Names that are so long that a host shortens them. They are found by their beginning: see `cutKey`. */
  readonly cut: ReadonlyMap<string, readonly string[]>;
  /** Whole names, by the text after one of their dots. Used if a host reports a tool without the name of its server. */
  readonly tools: ReadonlyMap<string, readonly string[]>;
  /** Names that are candidates for every tool name: wildcards, and names that have too many dots for `tools`. */
  readonly anyTool: readonly string[];
  /** The text before the first dot of each name. */
  readonly servers: ReadonlySet<string>;
}

export const noSpelledNames: SpelledNames = {
  exact: new Map(),
  wildcards: new Map(),
  cut: new Map(),
  tools: new Map(),
  anyTool: [],
  servers: new Set(),
};

/**
 * For each host: how many characters of our name may remain when the host shortens it. Codex and Cline write two
 * characters between the server and the tool, where our name has one. The part that remains may contain these two
 * characters or not. With Cline, this part may also contain the ends of two runs of characters that are one run in our
 * name.
 */
export const keptLengths = { codex: [18, 19], gemini: [24], copilot: [64], cline: [52, 53, 54, 55] } as const;
/**
 * No host shortens a whole name of this length or less. The value for Codex is low: Codex may first add two digests to
 * a name and then shorten the longer name.
 */
const uncutMax = { codex: 31, cline: 51, others: 57 } as const;
const toolDotsMax = 4;

const replaceable = /[^A-Za-z0-9]+/g;

/** Returns what no host changes: letters and digits. Each run of other characters becomes one `_`. */
export const lettersOf = (text: string): string => text.replace(replaceable, '_');

/**
 * Matches characters outside the basic plane. Codex counts such a character as one, and a host in JavaScript counts it
 * as two.
 */
const astral = /[\u{10000}-\u{10ffff}]/gu;
export const oneForEach = (text: string): string => text.replace(astral, '\u{fffd}');

/** Matches a run of characters that Cline writes as one character. */
const runs = /([^A-Za-z0-9_-])[^A-Za-z0-9_-]+/g;

export const cutKey = (text: string, length: number): string => `${length} ${lettersOf(text)}`;

export function spelledNames(names: Iterable<string>): SpelledNames {
  const made = {
    exact: new Map<string, string[]>(),
    wildcards: new Map<string, string[]>(),
    cut: new Map<string, string[]>(),
    tools: new Map<string, string[]>(),
    anyTool: [] as string[],
    servers: new Set<string>(),
  };
  for (const name of names) {
    const prefix = wildcardPrefix(name);
    const letters = lettersOf(prefix ?? name);
    put(prefix === null ? made.exact : made.wildcards, letters, name);
    putCut(made.cut, prefix ?? name, name);
    if (prefix !== null || !putTools(made.tools, name)) made.anyTool.push(name);
    const dot = name.indexOf('.');
    if (dot > 0 && dot < name.length - 1) made.servers.add(name.slice(0, dot));
  }
  return made;
}

function put(map: Map<string, string[]>, key: string, name: string): void {
  const all = map.get(key);
  if (all === undefined) map.set(key, [name]);
  // Two dots of a name, or two lengths, can lead to the same key. The name is added to that key only once.
  else if (all.at(-1) !== name) all.push(name);
}

/**
 * Indexes a name that hosts may shorten. `text`: the name itself, or the text before the `*` of a wildcard. A tool name
 * that matches a wildcard may be longer than `text`.
 */
function putCut(cut: Map<string, string[]>, text: string, name: string): void {
  const length = text === name ? text.length : Number.POSITIVE_INFINITY;
  const putLengths = (counted: string, lengths: readonly number[]): void => {
    for (const first of lengths) if (counted.length >= first) put(cut, cutKey(counted.slice(0, first), first), name);
  };
  if (length > uncutMax.codex) putLengths(oneForEach(text), keptLengths.codex);
  if (length > uncutMax.cline) putLengths(text.replace(runs, '$1'), keptLengths.cline);
  if (length <= uncutMax.others) return;
  putLengths(text, keptLengths.gemini);
  putLengths(text, keptLengths.copilot);
}

/** Indexes a name by the text after each of its dots. Returns whether all dots were indexed. */
function putTools(tools: Map<string, string[]>, name: string): boolean {
  let dot = name.indexOf('.', 1);
  for (let count = 0; dot > 0; count++) {
    if (count === toolDotsMax) return false;
    if (dot < name.length - 1) put(tools, lettersOf(name.slice(dot + 1)), name);
    dot = name.indexOf('.', dot + 1);
  }
  return true;
}

// Finds tool names from the spellings that hosts make of them. Hosts replace characters of a name with `_` or `-`, join
// it with a server's name, and cut it. All of that keeps ASCII letters and digits in their places. Therefore names are
// indexed by their letters and digits only. A lookup finds all names that a spelling can mean, and some that it cannot.
// The index is built with a document or a list of servers.
import { wildcardPrefix } from '@tollgate/proto/contract';

/** Names and wildcards, each indexed by its letters and digits. */
export interface SpelledNames {
  /** Whole names. */
  readonly exact: ReadonlyMap<string, readonly string[]>;
  /** Wildcards, with their `*`, by the text before it. */
  readonly wildcards: ReadonlyMap<string, readonly string[]>;
  /** Names that are so long that a host cuts them, by their beginning: see `cutKey`. */
  readonly cut: ReadonlyMap<string, readonly string[]>;
  /**
   * Whole names, by the text after one of their dots. Used if a host reports a tool's name without its server's name.
   */
  readonly tools: ReadonlyMap<string, readonly string[]>;
  /** Names that any tool name may match: wildcards, and names with so many dots that they are not in `tools`. */
  readonly anyTool: readonly string[];
  /** The text before the first dot. */
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
 * The number of characters of our name after which each host cuts. Codex counts with or without its separator of two
 * characters before them. Then follow Gemini CLI and Copilot CLI. Cline counts with its separator of two characters,
 * and possibly with the ends of two runs that are one run in our name.
 */
export const keptLengths = { codex: [18, 19], gemini: [24], copilot: [64], cline: [52, 53, 54, 55] } as const;
/** No host cuts a whole name of this length or less. Codex may have put two digests into one name that it cuts. */
const uncutMax = { codex: 31, cline: 51, others: 57 } as const;
const toolDotsMax = 4;

const replaceable = /[^A-Za-z0-9]+/g;

/** Keeps what no host changes: each run of other characters becomes one `_`. */
export const lettersOf = (text: string): string => text.replace(replaceable, '_');

/** A character outside the basic plane counts as one for Codex, and as two for a host in JavaScript. */
const astral = /[\u{10000}-\u{10ffff}]/gu;
export const oneForEach = (text: string): string => text.replace(astral, '\u{fffd}');

/** Cline writes such a run as one character. */
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
  // The same name can be added twice if two of its dots, or two lengths, leave the same letters.
  else if (all.at(-1) !== name) all.push(name);
}

/** `text`: the name, or the text before the `*` of a wildcard. More characters may follow the text of a wildcard. */
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

/** Returns whether all dots of the name were indexed. */
function putTools(tools: Map<string, string[]>, name: string): boolean {
  let dot = name.indexOf('.', 1);
  for (let count = 0; dot > 0; count++) {
    if (count === toolDotsMax) return false;
    if (dot < name.length - 1) put(tools, lettersOf(name.slice(dot + 1)), name);
    dot = name.indexOf('.', dot + 1);
  }
  return true;
}

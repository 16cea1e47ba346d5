// Names of tools, found by what a host may have made of them. Hosts replace characters of a name by `_` or `-`, join it with a
// server's name and cut it; all of that leaves letters and digits of ASCII where they are. So names are kept by those alone, and
// a look-up finds all that a spelling can stand for, and some that it cannot. Made with a document or a list of servers.
import { wildcardPrefix } from '@tollgate/proto/contract';

/** Names and wildcards, each found by its letters and digits. */
export interface SpelledNames {
  /** Whole names. */
  readonly exact: ReadonlyMap<string, readonly string[]>;
  /** Wildcards, with their `*`, by what stands before it. */
  readonly wildcards: ReadonlyMap<string, readonly string[]>;
  /** What is so long that a host cuts it, by its beginning: see `cutKey`. */
  readonly cut: ReadonlyMap<string, readonly string[]>;
  /** Whole names, by what stands behind one of their dots: where a host says a tool's name and not its server's. */
  readonly tools: ReadonlyMap<string, readonly string[]>;
  /** Those that any tool's name may belong to: wildcards, and names of so many dots that they are not in `tools`. */
  readonly anyTool: readonly string[];
  /** What stands before the first dot. */
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

/** After how many characters of our name hosts cut: Codex (with its joint of two before them, or not yet), Gemini CLI, Copilot CLI; Cline
 * with its joint of two, and perhaps with the ends of two runs that are one of ours. */
export const keptLengths = { codex: [18, 19], gemini: [24], copilot: [64], cline: [52, 53, 54, 55] } as const;
/** No host cuts a whole name that is as short; Codex may have put two digests into one that it cuts. */
const uncutMax = { codex: 31, cline: 51, others: 57 } as const;
const toolDotsMax = 4;

const replaceable = /[^A-Za-z0-9]+/g;

/** What no host changes: every run of other characters is one `_`. */
export const lettersOf = (text: string): string => text.replace(replaceable, '_');

/** A character outside the basic plane is one to Codex, and two to a host in JavaScript. */
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
  // One name comes twice where two of its dots, or two lengths, leave the same letters.
  else if (all.at(-1) !== name) all.push(name);
}

/** `text`: the name, or what is before the `*` of a wildcard, behind which more may stand. */
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

/** Whether all of its dots are taken account of. */
function putTools(tools: Map<string, string[]>, name: string): boolean {
  let dot = name.indexOf('.', 1);
  for (let count = 0; dot > 0; count++) {
    if (count === toolDotsMax) return false;
    if (dot < name.length - 1) put(tools, lettersOf(name.slice(dot + 1)), name);
    dot = name.indexOf('.', dot + 1);
  }
  return true;
}

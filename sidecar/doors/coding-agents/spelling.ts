// Describes how hosts spell tool names, and finds the names that a host's spelling may represent. Some hosts replace
// characters by a mark, and some cut long names. The code is pure. Candidates come from an index
// (`decide/spelled-names.ts`) and are compared here character by character. Versions of hosts that replace fewer
// characters are supported too. The lengths at which hosts cut are defined in three places: here, in `keptLengths` of
// that index, and in mcp-names.ts, which `tollgate hook` loads without packages.
import { type HostName, wildcardPrefix } from '@tollgate/proto/contract';
import { cutKey, keptLengths, lettersOf, oneForEach, type SpelledNames } from '../../engine/decide/spelled-names.ts';

export interface Spelling {
  /** Matches a character that stays unchanged. */
  readonly kept: RegExp;
  /** The character that replaces any other character. */
  readonly mark: string;
  readonly cut: CutName | null;
  /**
   * Matches the digest that the host appends to a server or tool, so that two names do not get the same spelling. Null:
   * the host appends none.
   */
  readonly digest: RegExp | null;
  /** Whether several replaced characters in a row become one `mark`. */
  readonly inRuns?: true;
}

interface CutName {
  /** A whole name with one of these lengths may have been cut. */
  readonly writtenLengths: readonly number[];
  /** The number of characters in the whole name before the server's name. */
  readonly before: number;
  /** The number of characters that come from the original name. A digest may follow them. */
  readonly shared: number;
  /** The lengths in `keptLengths` with which the index is searched for a cut name. */
  readonly keys: readonly number[];
}

const inUnderscores: Spelling = { kept: /[A-Za-z0-9_-]/, mark: '_', cut: null, digest: null };

/** The spelling of each host, for the text after `mcp__`, `mcp_` or `MCP:`. */
export const spellings: Readonly<Record<HostName, Spelling>> = {
  'claude-code': inUnderscores,
  // If a name has 64 characters, the last 40 may be a digest. Newer versions of Codex allow 128 characters and have
  // digests of 12 characters.
  codex: {
    kept: /[A-Za-z0-9_]/,
    mark: '_',
    cut: { writtenLengths: [64, 128], before: 5, shared: 19, keys: keptLengths.codex },
    digest: /_[0-9a-f]{12}(?=__|$)/g,
  },
  cursor: inUnderscores,
  // Gemini CLI leaves out the middle of a long name.
  'gemini-cli': {
    kept: /[A-Za-z0-9_.:-]/,
    mark: '_',
    cut: { writtenLengths: [63, 64], before: 4, shared: 24, keys: keptLengths.gemini },
    digest: null,
  },
  'copilot-cli': {
    kept: /[A-Za-z0-9_-]/,
    mark: '-',
    cut: { writtenLengths: [64], before: 0, shared: 64, keys: keptLengths.copilot },
    digest: null,
  },
  opencode: inUnderscores,
  // Cline appends a digest to every name in which it replaced characters, and to every name that it cut.
  cline: {
    kept: /[A-Za-z0-9_-]/,
    mark: '_',
    cut: { writtenLengths: [64], before: 0, shared: 55, keys: keptLengths.cline },
    digest: /_[0-9a-f]{8}$/g,
    inRuns: true,
  },
};

/** A name in a host's spelling, prepared for the search. */
export interface PreparedSpelling {
  /**
   * Returns the names and wildcards in `names` that this spelling may represent. `isTool`: `names` are tools of
   * servers, where the first dot separates server and tool.
   */
  among(names: SpelledNames, isTool: boolean): readonly string[];
}

/**
 * The maximum number of names that are compared. If more names have the same letters, each of them counts as a possible
 * name.
 */
const comparedMax = 16;

/** Returns whether the host may have cut the name, so that the whole name is longer. */
export const mayBeCut = (tool: string, { cut }: Spelling): boolean => cut?.writtenLengths.includes(tool.length) === true;

/** Prepares a text that contains a server's name and a tool's name. */
export function writtenJoined(text: string, joint: string, spelling: Spelling): PreparedSpelling {
  const cut = spelling.cut?.writtenLengths.includes(text.length + spelling.cut.before) === true ? spelling.cut : null;
  return writtenEither(...withoutDigests(text, spelling).map((one) => writtenAs({ text: one, joint, spelling, cut })));
}

const writtenAs = (joined: JoinedName): PreparedSpelling => ({
  among: (names, isTool) => {
    const { text, cut } = joined;
    const found = foundIn(names, text);
    for (const key of cut?.keys ?? []) found.push(...some(names.cut.get(cutKey(text.slice(0, cut?.shared), key))));
    const mayBe = joined.spelling.inRuns === true ? mayBeInRuns : mayBeJoined;
    return compared(found, (name) => isConnector(joined, name) || mayBe(joined, name, isTool));
  },
});

/**
 * Returns whether `name` may be a tool of a server whose name begins with `claude.ai `. For these servers, Claude Code
 * writes one `_` for several replaced characters in a row, and none at the end.
 */
const isConnector = ({ text, spelling }: JoinedName, name: string): boolean =>
  spelling === spellings['claude-code'] && text.startsWith('claude_ai_') && name.startsWith('claude.ai ');

/**
 * Returns the possible texts without digests: the host's text unchanged, without a digest at its end, and without each
 * digest inside it. A server has at most one digest.
 */
function withoutDigests(text: string, { digest }: Spelling): readonly string[] {
  if (digest === null) return [text];
  const digests = [...text.matchAll(digest)].map(({ 0: { length }, index }) => ({ from: index, to: index + length }));
  const last = digests.at(-1);
  const ends = last?.to === text.length ? [text, text.slice(0, last.from)] : [text];
  const inner = digests.filter(({ to }) => to < text.length);
  return ends.flatMap((one) => [one, ...inner.map(({ from, to }) => one.slice(0, from) + one.slice(to))]);
}

interface Parts {
  /** `before` and `behind` are unchanged, and `written` is the host's spelling. */
  readonly before: string;
  readonly written: string;
  readonly behind: string;
}

/** Prepares a name of which only a part is in the host's spelling. */
export function writtenWithin({ written, ...around }: Parts, spelling: Spelling): PreparedSpelling {
  return writtenEither(...withoutDigests(written, spelling).map((one) => writtenPart({ ...around, written: one }, spelling)));
}

function writtenPart({ before, written, behind }: Parts, spelling: Spelling): PreparedSpelling {
  const text = countedBy(spelling, before + written + behind);
  const from = countedBy(spelling, before).length;
  const to = from + written.length;
  const mayBe = (name: string): boolean => {
    const prefix = wildcardPrefix(name);
    if (spelling.inRuns === true) return prefix === null ? asRuns(name) === asRuns(text) : asRuns(text).startsWith(asRuns(prefix));
    const whole = countedBy(spelling, prefix ?? name);
    if (prefix === null ? whole.length !== text.length : whole.length > text.length) return false;
    for (let at = 0; at < whole.length; at++)
      if (whole[at] !== text[at] && !(from <= at && at < to && isAlike(whole[at], text[at], spelling))) return false;
    return true;
  };
  return { among: (names) => compared(foundIn(names, text), mayBe) };
}

/**
 * Returns the text with one code unit for each character that the host counts. Codex counts in another way than
 * JavaScript.
 */
const countedBy = (spelling: Spelling, text: string): string => (spelling === spellings.codex ? oneForEach(text) : text);

/** Prepares the name of a tool of an unknown server. */
export function writtenTool(text: string, spelling: Spelling): PreparedSpelling {
  const mayBe = (name: string): boolean => dotsOf(name).some((dot) => isSpelled(name.slice(dot + 1), text, spelling));
  return {
    among: (names, isTool) => [
      ...compared([...some(names.tools.get(lettersOf(text)))], mayBe),
      ...(isTool ? [] : names.anyTool.slice(0, comparedMax + 1)),
    ],
  };
}

export const writtenEither = (...ways: readonly PreparedSpelling[]): PreparedSpelling => ({
  among: (names, isTool) => [...new Set(ways.flatMap((way) => way.among(names, isTool)))],
});

/** Finds candidates that have the same letters: whole names, and wildcards that may match. */
function foundIn(names: SpelledNames, text: string): string[] {
  const letters = lettersOf(text);
  const found = [...some(names.exact.get(letters))];
  if (names.wildcards.size === 0) return found;
  // A wildcard ends in one of `.`, `_`, `/`, `:` and `-`. In `letters`, each of these characters is `_`.
  for (let end = letters.indexOf('_'); end >= 0; end = letters.indexOf('_', end + 1))
    found.push(...some(names.wildcards.get(letters.slice(0, end + 1))));
  return found;
}

const some = (names: readonly string[] | undefined): readonly string[] => names?.slice(0, comparedMax + 1) ?? [];

function compared(found: readonly string[], mayBe: (name: string) => boolean): readonly string[] {
  const unlike = [...new Set(found)];
  return unlike.length > comparedMax ? unlike : unlike.filter(mayBe);
}

const isAlike = (named: string | undefined, written: string | undefined, { kept, mark }: Spelling): boolean =>
  named !== undefined && (named === written || (written === mark && !kept.test(named)));

const isSpelled = (name: string, text: string, spelling: Spelling): boolean =>
  name.length === text.length && name.split('').every((one, at) => isAlike(one, text[at], spelling));

/** Returns the positions at which a server's name may end. */
function dotsOf(name: string): readonly number[] {
  const dots: number[] = [];
  for (let dot = name.indexOf('.', 1); dot > 0; dot = name.indexOf('.', dot + 1)) dots.push(dot);
  return dots;
}

interface JoinedName {
  readonly text: string;
  readonly joint: string;
  readonly spelling: Spelling;
  /** Null: the name is not cut. */
  readonly cut: CutName | null;
}

const asRuns = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_');

/**
 * Returns whether Cline may have written `name` as this joined text. If the text was cut, only its first part comes
 * from the name.
 */
function mayBeInRuns({ text: sent, joint, cut }: JoinedName, name: string, isTool: boolean): boolean {
  const prefix = wildcardPrefix(name);
  const whole = prefix ?? name;
  const text = cut === null ? sent : sent.slice(0, cut.shared);
  const dots = isTool ? dotsOf(whole).slice(0, 1) : dotsOf(whole);
  const begins = (made: string): boolean => text.startsWith(made) || (cut !== null && made.startsWith(text));
  const made = dots.map((dot) => asRuns(whole.slice(0, dot) + joint + whole.slice(dot + 1)));
  if (prefix !== null) return made.some(begins) || begins(asRuns(whole));
  return made.some((one) => one === sent || (cut !== null && one.startsWith(text)));
}

function mayBeJoined(joined: JoinedName, name: string, isTool: boolean): boolean {
  const prefix = wildcardPrefix(name);
  const whole = countedBy(joined.spelling, prefix ?? name);
  if (prefix !== null) return mayBegin(joined, whole);
  const dots = dotsOf(whole).filter((dot) => dot < whole.length - 1);
  return (isTool ? dots.slice(0, 1) : dots).some((dot) => {
    const length = whole.length - 1 + joined.joint.length;
    if (length === joined.text.length) return isWritten(joined, { whole, dot }, length);
    // A digest may be longer than the part that it replaces.
    const isLonger = joined.spelling.digest !== null || length > joined.text.length;
    return joined.cut !== null && isLonger && isWritten(joined, { whole, dot }, joined.cut.shared);
  });
}

/**
 * Returns whether some name with this prefix may be meant. The server's name ends at a dot of the prefix, or after the
 * prefix.
 */
function mayBegin(joined: JoinedName, prefix: string): boolean {
  const { text, joint, cut } = joined;
  const length = prefix.length - 1 + joint.length;
  const parted = dotsOf(prefix).some((dot) =>
    cut === null
      ? length <= text.length && isWritten(joined, { whole: prefix, dot }, length)
      : isWritten(joined, { whole: prefix, dot }, Math.min(length, cut.shared)),
  );
  if (parted) return true;
  const count = cut === null ? prefix.length : Math.min(prefix.length, cut.shared);
  if (count > text.length || !isWritten(joined, { whole: prefix, dot: Number.POSITIVE_INFINITY }, count)) return false;
  const end = text.indexOf(joint, prefix.length);
  return cut !== null || (end >= 0 && end + joint.length < text.length);
}

/** Returns whether the first `count` characters of the text match the name, with the joint in place of `dot`. */
function isWritten(
  { text, joint, spelling }: JoinedName,
  { whole, dot }: { readonly whole: string; readonly dot: number },
  count: number,
): boolean {
  for (let at = 0; at < count; at++) {
    const isJoint = at >= dot && at < dot + joint.length;
    const named = at < dot ? whole[at] : whole[at - joint.length + 1];
    if (isJoint ? text[at] !== joint[at - dot] : !isAlike(named, text[at], spelling)) return false;
  }
  return true;
}

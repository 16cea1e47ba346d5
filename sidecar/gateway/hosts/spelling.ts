// How hosts write names of tools, and which names a text that one of them wrote may stand for. Some replace characters by one of
// their own, some cut what is long. Pure. What is looked for is found by an index (`decide/spelled-names.ts`) and compared here
// character by character; versions that replace fewer characters are understood too. Where hosts cut stands in three places: here, in `keptLengths`
// of that index, and in mcp-names.ts, which `tollgate hook` loads without packages.
import { type HostName, wildcardPrefix } from '@tollgate/proto/contract';
import { cutKey, keptLengths, lettersOf, oneForEach, type SpelledNames } from '../../decide/spelled-names.ts';

export interface Spelling {
  /** A character that stays as it is. */
  readonly kept: RegExp;
  /** What stands in the place of another. */
  readonly mark: string;
  readonly cut: Cut | null;
  /** What it puts behind the name of a server or a tool which another one has as well, as far as it writes them. */
  readonly digest: RegExp | null;
  /** Whether more of what is not kept, in a row, is one `mark`. */
  readonly inRuns?: true;
}

interface Cut {
  /** How long a whole name is that may have been cut. */
  readonly writtenLengths: readonly number[];
  /** How much of that stands before the server's name. */
  readonly before: number;
  /** How many characters of it come from the name: a digest may follow. */
  readonly shared: number;
  /** Of `keptLengths`. */
  readonly keys: readonly number[];
}

const inUnderscores: Spelling = { kept: /[A-Za-z0-9_-]/, mark: '_', cut: null, digest: null };

/** Of what stands behind `mcp__`, `mcp_` or `MCP:`. */
export const spellings: Readonly<Record<HostName, Spelling>> = {
  'claude-code': inUnderscores,
  // The last 40 of 64 may be a digest. Newer versions have 128, and digests of 12.
  codex: {
    kept: /[A-Za-z0-9_]/,
    mark: '_',
    cut: { writtenLengths: [64, 128], before: 5, shared: 19, keys: keptLengths.codex },
    digest: /_[0-9a-f]{12}(?=__|$)/g,
  },
  cursor: inUnderscores,
  // The middle is left out.
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
  // A digest is behind every name in which characters were replaced, and every one that was cut.
  cline: {
    kept: /[A-Za-z0-9_-]/,
    mark: '_',
    cut: { writtenLengths: [64], before: 0, shared: 55, keys: keptLengths.cline },
    digest: /_[0-9a-f]{8}$/g,
    inRuns: true,
  },
};

/** What a host wrote, ready to be looked for. */
export interface Written {
  /** The names and wildcards among these that it may stand for. `isTool`: of tools of servers, which the first dot parts. */
  among(names: SpelledNames, isTool: boolean): readonly string[];
}

/** Where more names have the same letters, none of them is compared: each may be meant. */
const comparedMax = 16;

/** Whether there may be more of a whole name than a host wrote. */
export const mayBeCut = (tool: string, { cut }: Spelling): boolean => cut?.writtenLengths.includes(tool.length) === true;

/** A server's and a tool's name in one text. */
export function writtenJoined(text: string, joint: string, spelling: Spelling): Written {
  const cut = spelling.cut?.writtenLengths.includes(text.length + spelling.cut.before) === true ? spelling.cut : null;
  return writtenEither(...withoutDigests(text, spelling).map((one) => writtenAs({ text: one, joint, spelling, cut })));
}

const writtenAs = (joined: Joined): Written => ({
  among: (names, isTool) => {
    const { text, cut } = joined;
    const found = foundIn(names, text);
    for (const key of cut?.keys ?? []) found.push(...some(names.cut.get(cutKey(text.slice(0, cut?.shared), key))));
    const mayBe = joined.spelling.inRuns === true ? mayBeInRuns : mayBeJoined;
    return compared(found, (name) => isConnector(joined, name) || mayBe(joined, name, isTool));
  },
});

/** Of these servers Claude Code makes one `_` of what is not kept in a row, and none of what is at the end. */
const isConnector = ({ text, spelling }: Joined, name: string): boolean =>
  spelling === spellings['claude-code'] && text.startsWith('claude_ai_') && name.startsWith('claude.ai ');

/** A text that a host wrote as it is, without a digest at its end, and each without one in it: a server has one at most. */
function withoutDigests(text: string, { digest }: Spelling): readonly string[] {
  if (digest === null) return [text];
  const digests = [...text.matchAll(digest)].map(({ 0: { length }, index }) => ({ from: index, to: index + length }));
  const last = digests.at(-1);
  const ends = last?.to === text.length ? [text, text.slice(0, last.from)] : [text];
  const inner = digests.filter(({ to }) => to < text.length);
  return ends.flatMap((one) => [one, ...inner.map(({ from, to }) => one.slice(0, from) + one.slice(to))]);
}

interface Parts {
  /** As they are, but for `written`. */
  readonly before: string;
  readonly written: string;
  readonly behind: string;
}

/** A name of which only a part was written by the host. */
export function writtenWithin({ written, ...around }: Parts, spelling: Spelling): Written {
  return writtenEither(...withoutDigests(written, spelling).map((one) => writtenPart({ ...around, written: one }, spelling)));
}

function writtenPart({ before, written, behind }: Parts, spelling: Spelling): Written {
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

/** As many characters as the host counts, if it counts others than JavaScript does. */
const countedBy = (spelling: Spelling, text: string): string => (spelling === spellings.codex ? oneForEach(text) : text);

/** The name of some server's tool. */
export function writtenTool(text: string, spelling: Spelling): Written {
  const mayBe = (name: string): boolean => dotsOf(name).some((dot) => isSpelled(name.slice(dot + 1), text, spelling));
  return {
    among: (names, isTool) => [
      ...compared([...some(names.tools.get(lettersOf(text)))], mayBe),
      ...(isTool ? [] : names.anyTool.slice(0, comparedMax + 1)),
    ],
  };
}

export const writtenEither = (...ways: readonly Written[]): Written => ({
  among: (names, isTool) => [...new Set(ways.flatMap((way) => way.among(names, isTool)))],
});

/** By its letters: the whole names, and the wildcards that may begin it. */
function foundIn(names: SpelledNames, text: string): string[] {
  const letters = lettersOf(text);
  const found = [...some(names.exact.get(letters))];
  if (names.wildcards.size === 0) return found;
  // A wildcard ends in one of . _ / : and -, which are all one here.
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

/** Where a server's name may end. */
function dotsOf(name: string): readonly number[] {
  const dots: number[] = [];
  for (let dot = name.indexOf('.', 1); dot > 0; dot = name.indexOf('.', dot + 1)) dots.push(dot);
  return dots;
}

interface Joined {
  readonly text: string;
  readonly joint: string;
  readonly spelling: Spelling;
  /** Null: it is whole. */
  readonly cut: Cut | null;
}

const asRuns = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, '_');

/** As Cline joins and writes it; what it cut is all of `text` that comes from the name. */
function mayBeInRuns({ text: sent, joint, cut }: Joined, name: string, isTool: boolean): boolean {
  const prefix = wildcardPrefix(name);
  const whole = prefix ?? name;
  const text = cut === null ? sent : sent.slice(0, cut.shared);
  const dots = isTool ? dotsOf(whole).slice(0, 1) : dotsOf(whole);
  const begins = (made: string): boolean => text.startsWith(made) || (cut !== null && made.startsWith(text));
  const made = dots.map((dot) => asRuns(whole.slice(0, dot) + joint + whole.slice(dot + 1)));
  if (prefix !== null) return made.some(begins) || begins(asRuns(whole));
  return made.some((one) => one === sent || (cut !== null && one.startsWith(text)));
}

function mayBeJoined(joined: Joined, name: string, isTool: boolean): boolean {
  const prefix = wildcardPrefix(name);
  const whole = countedBy(joined.spelling, prefix ?? name);
  if (prefix !== null) return mayBegin(joined, whole);
  const dots = dotsOf(whole).filter((dot) => dot < whole.length - 1);
  return (isTool ? dots.slice(0, 1) : dots).some((dot) => {
    const length = whole.length - 1 + joined.joint.length;
    if (length === joined.text.length) return isWritten(joined, { whole, dot }, length);
    // What is left of a digest may be longer than what it stands behind.
    const isLonger = joined.spelling.digest !== null || length > joined.text.length;
    return joined.cut !== null && isLonger && isWritten(joined, { whole, dot }, joined.cut.shared);
  });
}

/** Whether some name that begins so may be meant: its server's name ends at a dot of the prefix, or goes on behind it. */
function mayBegin(joined: Joined, prefix: string): boolean {
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

/** Whether the first `count` characters are how the name is written with the joint in the place of this dot. */
function isWritten(
  { text, joint, spelling }: Joined,
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

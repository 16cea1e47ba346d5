// Replaces secrets and personal data in JSON and in text. Pure: the same value, settings and numbers give the same
// result. Idempotent: it searches its own result again until nothing is left to find.
import { type CompiledRedaction, digestText, type Finding as KindCount } from '@tollgate/proto/contract';
import { detectors } from './detectors/index.ts';
import { isStrongPassword } from './detectors/named/named-value.ts';
import { isNamedSecret, meaningOf } from './detectors/named/names.ts';
import { createFinder, type Finder, knownOf, nothingKnown, replaceFound } from './finder.ts';
import { isJson, type Leaf, rewriteStrings } from './json.ts';
import { builtInMarks, type Numbers, overBudgetKind, type Span, withoutMarks } from './marks.ts';
import { ownPattern } from './own-pattern.ts';
import { createTextStream, type TextStream } from './stream.ts';
import { createValues } from './values.ts';
import { type Finders, findWanted } from './wanted.ts';
import { candidateCost, createWork, OverBudget } from './work.ts';

/** The findings of one kind at one place. */
export interface PlacedFinding extends KindCount {
  /**
   * The path of the place, written as in policy documents: `customer.emails[0]`. Empty for the whole value, and for all
   * findings after `placesMax` places.
   */
  readonly path: string;
  /** SHA-256 in hex of each different value. A workspace's allow-list contains such digests. */
  readonly digests: readonly string[];
}

export interface Redaction {
  readonly text: string;
  /** The findings by path and kind, in the order in which they were found. Empty: nothing was changed. */
  readonly findings: readonly PlacedFinding[];
}

export interface Redactor {
  /** Redacts a JSON text. The result is JSON of the same shape, or a single mark if the value needs too much work. */
  redactJson(json: string, numbers: Numbers): Redaction;
  /** Redacts a text that is not JSON itself, although it may contain some. */
  redactText(text: string, numbers: Numbers): Redaction;
  /** Redacts a text that arrives in pieces. */
  openStream(numbers: Numbers): TextStream;
}

const overBudgetMark = `[redacted:${overBudgetKind}]`;

// The maximum number of rounds. Each round with a finding is followed by another round, and no reasonable value needs
// more than three.
const roundsMax = 6;
// The maximum nesting: JSON in a string, which is in JSON, and so on.
const nestingMax = 8;
const digestsMax = 100;
// The maximum number of places that are reported for one payload. People do not read more, and a list may have a
// finding in each item.
const placesMax = 1_000;
// The minimum length of a password that is recognised only by the key of its object, and not by its own key:
// `{"password": {"old": …}}`.
const outerLengthMin = 6;

/** `kept`: kinds that are found but not replaced, because the tool of the call may receive them. */
export function createRedactor({ off, patterns, allow }: Omit<CompiledRedaction, 'exceptions'>, kept: readonly string[]): Redactor {
  const passed = new Set<string>([...off, ...kept]);
  const allowed = new Set(allow);
  const marked = new Set([...builtInMarks, ...patterns.map(([kind]) => kind)]);
  const compiled = patterns.map(([kind, pattern]) => ownPattern(kind, pattern));
  const finderOf = (wanted: (one: { readonly kind: string }) => boolean): Finder =>
    createFinder(detectors.filter(wanted), compiled.filter(wanted), { allow: allowed, marked });
  const finders: Finders = {
    passed,
    marked,
    wanted: finderOf(({ kind }) => !passed.has(kind)),
    unwanted: passed.size === 0 ? null : finderOf(({ kind }) => passed.has(kind)),
  };
  const untilSettled = (value: string, numbers: Numbers, rewrite: (text: string, call: Call) => string): Redaction | null => {
    const call = new Call(finders, numbers);
    noteMarks(call, value, 0);
    let text = value;
    try {
      for (let round = 0; round < roundsMax; round++) {
        const before = text;
        text = rewrite(before, call);
        if (text === before) return { text, findings: [...call.placed.values()] };
        // Earlier findings are known in the next round.
        call.known = knownOf(call.values.all);
      }
    } catch (error) {
      if (!(error instanceof OverBudget)) throw error;
    }
    return null;
  };
  const wholly = (text: string): Redaction => ({ text, findings: [{ kind: overBudgetKind, count: 1, path: '', digests: [] }] });
  return {
    redactJson: (json, numbers) =>
      untilSettled(json, numbers, (text, call) => rewriteJson(call, text, whole, 0)) ?? wholly(JSON.stringify(overBudgetMark)),
    redactText: (text, numbers) =>
      untilSettled(text, numbers, (before, call) => rewrite(call, { ...whole, text: before }, 0)) ?? wholly(overBudgetMark),
    openStream: (numbers) => createTextStream(finders, numbers),
  };
}

const whole: Leaf = { text: '', name: '', outer: '', sort: '', isKey: false, path: () => '' };

/** The mark that replaces a value, and the digest of the value. An allow-list contains such digests. */
interface Replacement {
  readonly mark: string;
  readonly digest: string;
}

/**
 * One call: its findings, and its remaining work budget. The functions below work on it, because private methods were
 * slower.
 */
class Call {
  readonly finders: Finders;
  readonly numbers: Numbers;
  readonly work = createWork();
  readonly values = createValues();
  readonly placed = new Map<string, PlacedFinding>();
  readonly replacements = new Map<string, Replacement>();
  /** The values found in earlier rounds. */
  known = nothingKnown;

  constructor(finders: Finders, numbers: Numbers) {
    this.finders = finders;
    this.numbers = numbers;
  }
}

function replacementOf(call: Call, kind: string, value: string): Replacement {
  const key = `${kind} ${value}`;
  const known = call.replacements.get(key);
  if (known !== undefined) return known;
  const digest = digestText(value);
  const made = { mark: call.numbers.markFor(kind, value, digest), digest };
  call.replacements.set(key, made);
  call.values.add(kind, value);
  return made;
}

function markFor(call: Call, kind: string, value: string, path: string): string {
  call.work.spend(candidateCost);
  const { mark, digest } = replacementOf(call, kind, value);
  const at = `${kind} ${path}`;
  const { count = 0, digests = [] } = call.placed.get(at) ?? {};
  const added = digests.length >= digestsMax || digests.includes(digest) ? digests : [...digests, digest];
  call.placed.set(at, { kind, path, count: count + 1, digests: added });
  return mark;
}

function placeOf(call: Call, { path }: Leaf): string {
  return call.placed.size < placesMax ? path() : '';
}

/**
 * Returns the findings in a text. If they contain a new value, the text is searched a second time, because the value
 * may occur in it again.
 */
function look(call: Call, text: string, from: number): ReturnType<typeof findWanted> {
  const first = findWanted(call.finders, text, from, call.known, call.work);
  const before = call.values.all.size;
  for (const { kind, start, end } of first.found) call.values.add(kind, text.slice(start, end));
  return call.values.all.size === before ? first : findWanted(call.finders, text, from, knownOf(call.values.all), call.work);
}

function rewrite(call: Call, leaf: Leaf, nesting: number): string {
  const { text, name, outer, sort, isKey } = leaf;
  if (!isKey && nesting < nestingMax && isJson(text)) return rewriteJson(call, text, leaf, nesting + 1);
  const meaning = meaningOf(name);
  const { isContext } = meaning;
  // A text inside an object that is named `password` is a password too: `{"password": {"old": …}}`.
  const named =
    meaning.named ?? (!isContext && meaningOf(outer).named === 'password' && isStrongPassword(text, outerLengthMin) ? 'password' : null);
  const context = isContext ? `${name}: ` : meaningOf(sort).isContext ? `${sort}: ` : '';
  const scanned = context + text;
  const isWhole = ({ start, end }: Span): boolean => start === context.length && end === scanned.length;
  const { found, left } = look(call, scanned, context.length);
  if (named !== null && !call.finders.passed.has(named) && !found.some(isWhole) && !left.some(isWhole)) {
    // The decision uses the text without its marks. If the text consists only of marks, there is no finding.
    const bare = withoutMarks(text, call.finders.marked);
    if (isNamedSecret(named, bare) && !call.finders.wanted.allows(text)) return markFor(call, named, text, placeOf(call, leaf));
  }
  if (found.length === 0) return text;
  const place = placeOf(call, leaf);
  return replaceFound(scanned, context.length, found, (kind, value) => markFor(call, kind, value, place));
}

function rewriteJson(call: Call, json: string, around: Leaf, nesting: number): string {
  call.work.spend(json.length);
  return rewriteStrings(json, around, (leaf) => rewrite(call, leaf, nesting));
}

/** Notes the numbers of the marks in the payload, so that new numbers are higher. */
function noteMarks(call: Call, payload: string, nesting: number): void {
  call.numbers.note(payload, call.finders.marked);
  // In JSON a mark may be written with escapes. Such a mark is visible only after the string is decoded.
  if (nesting > nestingMax || !payload.includes('\\u00') || !isJson(payload)) return;
  rewriteStrings(payload, whole, ({ text }) => {
    noteMarks(call, text, nesting + 1);
    return text;
  });
}

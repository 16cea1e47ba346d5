// Finds what is left of the values of a text after redaction. Between two marks, the output is a piece of the input.
// The pieces are matched to the input in the way that leaves as little as possible of the values: the redactor gets the
// benefit of the doubt.

export interface Survival {
  /** By index in `values`: the number of its letters and digits that are left at its worst occurrence. */
  readonly left: readonly number[];
  /**
   * The number of removed characters that belong to no value. Quotes and backslashes do not count, because a number
   * with a mark becomes a string.
   */
  readonly excess: number;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

export const mark = /\[redacted:[a-z_0-9]+(?:#\d+)?\](?:#\d+)?/;

/** Null where the output is not the input with marks in it, or where the input does not contain all values. */
export function survivalOf(input: string, output: string, values: readonly string[]): Survival | null {
  const [before, after] = [leavesOf(input, 0), leavesOf(output, 0)];
  const byLeaf = before.length === after.length ? compare(before, after, values) : null;
  return byLeaf ?? compare([input], [output], values);
}

/**
 * Returns the contents of a text. For JSON, these are its keys, strings and numbers in order, and in turn their
 * contents.
 */
function leavesOf(text: string, nesting: number): readonly string[] {
  if (nesting > 4 || !/^\s*["[{]/.test(text)) return [text];
  try {
    JSON.parse(text);
  } catch {
    return [text];
  }
  const leaves = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g) ?? [];
  return leaves.flatMap((leaf) => (leaf.startsWith('"') ? leavesOf(String(JSON.parse(leaf)), nesting + 1) : [leaf]));
}

function compare(before: readonly string[], after: readonly string[], values: readonly string[]): Survival | null {
  const left = values.map(() => -1);
  let excess = 0;
  for (const [at, text] of before.entries()) {
    const places = values.map((value) => formsOf(value).flatMap((form) => occurrences(text, form)));
    const inValue = covered(places.flat(), text.length);
    const kept = keptOf(text, after[at] ?? '', inValue);
    if (kept === null) return null;
    places.forEach((spans, value) => {
      for (const span of spans) left[value] = Math.max(left[value] ?? -1, wordsIn(text, span, kept));
    });
    for (const [of, isKept] of kept.entries()) if (isKept === 0 && inValue[of] === 0 && !'"\\'.includes(text.charAt(of))) excess += 1;
  }
  return left.includes(-1) ? null : { left, excess };
}

/** Returns the forms in which a value can occur in a text: unchanged, with one more escape, with one less. */
export function formsOf(value: string): readonly string[] {
  const escaped = JSON.stringify(value).slice(1, -1);
  return [...new Set([value, escaped, JSON.stringify(escaped).slice(1, -1), unescaped(value), unescaped(unescaped(value))])];
}

function unescaped(value: string): string {
  try {
    return String(JSON.parse(`"${value}"`));
  } catch {
    return value;
  }
}

/** Returns the places where the value is a separate word. If there are none, returns all places. */
function occurrences(text: string, value: string): readonly Span[] {
  const all: Span[] = [];
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) all.push({ start: at, end: at + value.length });
  const isWord = (at: number): boolean => /[A-Za-z0-9]/.test(text.charAt(at));
  const own = all.filter(({ start, end }) => !(isWord(start - 1) && isWord(start)) && !(isWord(end - 1) && isWord(end)));
  return own.length > 0 ? own : all;
}

function covered(spans: readonly Span[], length: number): Uint8Array {
  const marked = new Uint8Array(length);
  for (const { start, end } of spans) marked.fill(1, start, end);
  return marked;
}

const wordsIn = (text: string, { start, end }: Span, kept: Uint8Array): number => {
  let words = 0;
  for (let at = start; at < end; at++) if (kept[at] === 1 && /[\p{L}\p{N}]/u.test(text.charAt(at))) words += 1;
  return words;
};

/** One way to match the pieces so far, and what it leaves of the values. */
interface PieceMatch {
  readonly end: number;
  readonly leaves: number;
  readonly spans: readonly Span[];
}

/** Returns 1 for each character that is still there. Null if the output does not consist of pieces of the text. */
function keptOf(text: string, output: string, inValue: Uint8Array): Uint8Array | null {
  const pieces = output
    .split(new RegExp(`"?${mark.source}"?`))
    .map((piece, at, all) => ({ piece, isFirst: at === 0, isLast: at === all.length - 1 }));
  if (pieces.length === 1) return output === text ? new Uint8Array(text.length).fill(1) : null;
  const before = new Uint32Array(text.length + 1);
  for (let at = 0; at < text.length; at++) before[at + 1] = (before[at] ?? 0) + (inValue[at] ?? 0);
  const layings = pieces.reduce<readonly PieceMatch[]>(
    (laid, { piece, isFirst, isLast }) => {
      const places = placesOf(text, piece, isFirst, isLast);
      return places.flatMap((start) => {
        const end = start + piece.length;
        const best = laid.reduce<PieceMatch | null>(
          (least, one) => (one.end <= start && (least === null || one.leaves < least.leaves) ? one : least),
          null,
        );
        const leaves = (before[end] ?? 0) - (before[start] ?? 0);
        return best === null ? [] : [{ end, leaves: best.leaves + leaves, spans: [...best.spans, { start, end }] }];
      });
    },
    [{ end: 0, leaves: 0, spans: [] }],
  );
  const best = layings.toSorted((a, b) => a.leaves - b.leaves)[0];
  return best === undefined ? null : covered(best.spans, text.length);
}

function placesOf(text: string, piece: string, isFirst: boolean, isLast: boolean): readonly number[] {
  if (isFirst) return text.startsWith(piece) ? [0] : [];
  if (isLast) return text.endsWith(piece) ? [text.length - piece.length] : [];
  const places: number[] = [];
  for (let at = text.indexOf(piece); at !== -1 && at <= text.length; at = text.indexOf(piece, at + 1)) {
    places.push(at);
    if (piece === '' && at === text.length) break;
  }
  return places;
}

// Finds every anchor of every detector in one pass over a text, with an Aho-Corasick automaton that ignores case. Its
// time does not depend on the number of detectors.

export interface Anchors {
  /**
   * Calls `visit` for each anchor, in the order of their ends. `detector` is the position of the detector that the
   * anchor belongs to.
   */
  scan(text: string, visit: (detector: number, at: number, end: number) => void): void;
}

/** An anchor that ends at a state of the automaton: the position of its detector and its length. */
interface Ending {
  readonly detector: number;
  readonly length: number;
}

export function buildAnchors(detectors: readonly { readonly anchors: readonly string[] | 'digits' }[]): Anchors {
  const keywords = detectors.flatMap(({ anchors }, detector) =>
    anchors === 'digits' ? [] : anchors.map((word) => ({ word: word.toLowerCase(), detector })),
  );
  const ofDigits = detectors.flatMap(({ anchors }, detector) => (anchors === 'digits' ? [detector] : []));
  const { classes, width } = classesOf(keywords.map(({ word }) => word));
  const { next, endings } = automatonOf(keywords, classes, width);

  return {
    scan: (text, visit) => {
      let row = 0;
      for (let at = 0; at < text.length; at++) {
        const code = text.charCodeAt(at);
        const entry = next[row + (classes[code] ?? 0)] ?? 0;
        row = (entry >> 1) * width;
        if ((entry & 1) === 1) for (const { detector, length } of endings[entry >> 1] ?? []) visit(detector, at + 1 - length, at + 1);
        if (code <= 57 && code >= 48 && ofDigits.length > 0 && !isDigit(text.charCodeAt(at - 1))) {
          const end = runEnd(text, at);
          for (const detector of ofDigits) visit(detector, at, end);
        }
      }
    },
  };
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Returns the end of the run of digits that begins at `at`. */
function runEnd(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && isDigit(text.charCodeAt(end))) end += 1;
  return end;
}

/**
 * Assigns a class to each character. Characters that no anchor contains form one class, 0. A letter and its capital
 * share a class.
 */
function classesOf(words: readonly string[]): { readonly classes: Uint16Array; readonly width: number } {
  const classes = new Uint16Array(65_536);
  let width = 1;
  for (const character of words.join('')) {
    const code = character.charCodeAt(0);
    if (classes[code] !== 0) continue;
    classes[code] = width;
    const capital = character.toUpperCase();
    // This excludes `ı`, because its capital `I` belongs to `i`.
    if (capital.length === 1 && capital.toLowerCase() === character) classes[capital.charCodeAt(0)] = width;
    width += 1;
  }
  return { classes, width };
}

interface Trie {
  /** The child nodes, by character class. */
  readonly children: Map<number, Trie>;
  /** Every anchor that ends at this node, including shorter ones. */
  ended: readonly Ending[];
  state: number;
  /** The node at which matching continues after a mismatch. */
  fallback: Trie | null;
}

/**
 * Builds the table of the automaton. It has a row for each state. Each row has a value for each class. The value is
 * twice the number of the next state, plus one if an anchor ends at that next state. States are numbered by their
 * depth. A scan is nearly always at a shallow state, so the values that are read often are close together in memory.
 */
function automatonOf(
  keywords: readonly { readonly word: string; readonly detector: number }[],
  classes: Uint16Array,
  width: number,
): { readonly next: Uint16Array; readonly endings: readonly (readonly Ending[])[] } {
  const root = trieOf(keywords, classes);
  const states = numbered(root);
  if (states.length > 32_767) throw new RangeError('the anchors of all detectors together must need at most 32767 states');
  const next = new Uint16Array(states.length * width);
  for (const node of states) {
    // The row of the fallback is already written, because the fallback is shallower.
    if (node.fallback !== null) next.copyWithin(node.state * width, node.fallback.state * width, (node.fallback.state + 1) * width);
    for (const [of, child] of node.children) next[node.state * width + of] = child.state * 2 + (child.ended.length > 0 ? 1 : 0);
  }
  return { next, endings: states.map(({ ended }) => ended) };
}

function trieOf(keywords: readonly { readonly word: string; readonly detector: number }[], classes: Uint16Array): Trie {
  const root = emptyTrie();
  for (const { word, detector } of keywords) {
    let node = root;
    for (let at = 0; at < word.length; at++) {
      const of = classes[word.charCodeAt(at)] ?? 0;
      const child = node.children.get(of) ?? emptyTrie();
      node.children.set(of, child);
      node = child;
    }
    node.ended = [...node.ended, { detector, length: word.length }];
  }
  return root;
}

const emptyTrie = (): Trie => ({ children: new Map(), ended: [], state: 0, fallback: null });

/** Numbers all nodes breadth first, sets their fallbacks, and returns them. */
function numbered(root: Trie): readonly Trie[] {
  const states = [root];
  for (const node of states) {
    for (const [of, child] of node.children) {
      child.state = states.length;
      states.push(child);
      let from = node.fallback;
      while (from !== null && !from.children.has(of)) from = from.fallback;
      child.fallback = from?.children.get(of) ?? root;
      child.ended = [...child.ended, ...child.fallback.ended];
    }
  }
  return states;
}

// Finds the nearest of several words before a position. It searches backwards, so the nearest word is found first. The
// time is linear in the few characters that it reads.

/** The word that was found. */
export interface Label<Context extends string> {
  readonly context: Context;
  /** The position where the word ends. */
  readonly end: number;
}

export interface Labels<Context extends string> {
  /** Returns the last label between `from` and `to`, or null. `only`: labels of other contexts are ignored. */
  lastIn(text: string, from: number, to: number, only?: Context): Label<Context> | null;
}

/**
 * A node in the tree of words. The words are read backwards from their ends. `context`: what a word announces if it
 * begins at this node.
 */
interface Node<Context extends string> {
  readonly before: Map<number, Node<Context>>;
  context: Context | null;
  /** True: more letters may follow the word. */
  isStem: boolean;
}

/**
 * Creates the search. `words`: for each context, the words that announce it, in lower case. A `*` at the end means any
 * inflection.
 */
export function createLabels<Context extends string>(words: Readonly<Record<Context, readonly string[]>>): Labels<Context> {
  const root = createNode<Context>();
  // Says for each character whether a word can end with it. Only positions after such characters are looked up. 1: it
  // is the last letter of words. 2: it is also the last letter of stems.
  const ends = new Uint8Array(65_536);
  const isContext = (name: string): name is Context => Object.hasOwn(words, name);
  for (const context of Object.keys(words).filter(isContext)) for (const word of words[context]) add(root, word, context);
  for (const [code, node] of root.before)
    for (const either of [code, String.fromCharCode(code).toUpperCase().charCodeAt(0)]) ends[either] = holdsStem(node) ? 2 : 1;

  /** Returns the context of the longest label that ends at `end`. */
  const contextAt = (text: string, from: number, end: number, isWhole: boolean, only: Context | undefined): Context | null => {
    let found: Context | null = null;
    let at = end - 1;
    for (
      let node = root.before.get(lowerAt(text, at));
      node !== undefined;
      node = at >= from ? node.before.get(lowerAt(text, at)) : undefined
    ) {
      if (node.context !== null && (only === undefined || node.context === only) && startsLabel(text, at) && (node.isStem || isWhole))
        found = node.context;
      at -= 1;
    }
    return found;
  };
  return {
    lastIn: (text, from, to, only) => {
      for (let end = to; end > from; end--) {
        const ending = ends[text.charCodeAt(end - 1)] ?? 0;
        if (ending === 0) continue;
        const isWhole = endsLabel(text, end);
        const context = isWhole || ending === 2 ? contextAt(text, from, end, isWhole, only) : null;
        if (context !== null) return { context, end };
      }
      return null;
    },
  };
}

const createNode = <Context extends string>(): Node<Context> => ({ before: new Map(), context: null, isStem: false });

function add<Context extends string>(root: Node<Context>, word: string, context: Context): void {
  const isStem = word.endsWith('*');
  let node = root;
  for (let at = word.length - (isStem ? 2 : 1); at >= 0; at--) {
    const code = word.charCodeAt(at);
    const next = node.before.get(code) ?? createNode<Context>();
    node.before.set(code, next);
    node = next;
  }
  node.context = context;
  node.isStem = isStem;
}

const holdsStem = <Context extends string>({ isStem, before }: Node<Context>): boolean => isStem || [...before.values()].some(holdsStem);

const isLower = (code: number): boolean => code >= 97 && code <= 122;
const isUpper = (code: number): boolean => code >= 65 && code <= 90;
// Returns whether the letter belongs to an alphabet that has blanks between words.
const isAlphabetic = (code: number): boolean =>
  isLower(code) || isUpper(code) || (code >= 0xc0 && code < 0x250) || (code >= 0x370 && code < 0x530);

/** Returns the character's code, in lower case if that is a single character. */
function lowerAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0x80) return isUpper(code) ? code + 32 : code;
  return code < 0x530 ? text.charAt(at).toLowerCase().charCodeAt(0) : code;
}

/**
 * Returns whether a label may begin at `start`. `tel` does not begin a label in `hotel`. It does in `homeTel`, in
 * `\ntel` and after a letter of another script.
 */
function startsLabel(text: string, start: number): boolean {
  const first = text.charCodeAt(start);
  const before = text.charCodeAt(start - 1);
  if (!isAlphabetic(first) || !isAlphabetic(before)) return true;
  return (isUpper(first) && isLower(before)) || text[start - 2] === '\\';
}

function endsLabel(text: string, end: number): boolean {
  const last = text.charCodeAt(end - 1);
  const next = text.charCodeAt(end);
  if (!isAlphabetic(last) || !isAlphabetic(next)) return true;
  return isUpper(next) && isLower(last);
}

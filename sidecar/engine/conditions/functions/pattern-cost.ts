// Estimates what it takes to compile a pattern, before it is compiled: a text of a few characters may repeat a part a
// thousand times, and `(?i)` looks up the other case of each character of a range. The estimate reads the pattern once
// and does not check it: a pattern that is not valid is refused when it is compiled.

interface PatternCost {
  /** About the number of instructions. */
  readonly size: number;
  /** Named classes such as `\pL`. */
  readonly classes: number;
  /** The characters in the ranges of classes, if some part of the pattern ignores case. */
  readonly folded: number;
}

/** A group, or the whole pattern. */
interface Frame {
  size: number;
  /** The size of the part that a repetition repeats. */
  last: number;
  /** The instructions for remembering what the group matches. */
  readonly own: number;
}

export function patternCost(source: string): PatternCost {
  const reading = new Reading(source);
  reading.read();
  const { size, classes, ranges, ignoresCase } = reading;
  return { size, classes, folded: ignoresCase ? ranges : 0 };
}

const repetition = /\{(\d+)(?:,(\d*))?\}/y;
/** `(?i)`, `(?i:`, `(?:`, `(?P<name>`: what begins a group, and whether a group begins. */
const groupStart = /\(\?(?:([a-zA-Z-]*)([:)])|P?<[^>]*>)/y;
const namedClass = /\\[pP](?:\{[^}]*\}|[^])?/y;
const codePoint = /\\x(?:\{([\da-fA-F]+)\}|([\da-fA-F]{2}))/y;
const posixClass = /\[:\^?\w*:\]/y;
const literalText = /\\Q[^]*?(?:\\E|$)/y;

class Reading {
  classes = 0;
  ranges = 0;
  ignoresCase = false;
  readonly #source: string;
  readonly #frames: Frame[] = [{ size: 0, last: 0, own: 0 }];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  get size(): number {
    return this.#frames.reduce((sum, { size }) => sum + size, 0);
  }

  read(): void {
    while (this.#at < this.#source.length) this.#part();
  }

  #part(): void {
    switch (this.#source.charAt(this.#at)) {
      case '\\':
        return this.#add(this.#escape());
      case '[':
        return this.#class();
      case '(':
        return this.#group();
      case ')': {
        this.#at += 1;
        const group = this.#frames.length > 1 ? this.#frames.pop() : undefined;
        return this.#add(group === undefined ? 1 : group.size + group.own);
      }
      case '{':
        return this.#repeat();
      case '*':
      case '+':
      case '?':
      case '|':
        this.#at += 1;
        this.#frame.size += 1;
        return;
      default:
        this.#at += 1;
        return this.#add(1);
    }
  }

  get #frame(): Frame {
    return this.#frames.at(-1) ?? { size: 0, last: 0, own: 0 };
  }

  #add(size: number): void {
    const frame = this.#frame;
    frame.size += size;
    frame.last = size;
  }

  /** Returns the match at the current position, and moves behind it. */
  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#source);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  /** Reads an escape. Returns its size. */
  #escape(): number {
    const text = this.#take(literalText);
    if (text !== null) {
      this.#frame.size += Math.max(0, text[0].length - 5);
      return 1;
    }
    if (this.#take(namedClass) !== null) this.classes += 1;
    else if (this.#take(codePoint) === null) this.#at += 2;
    return 1;
  }

  #group(): void {
    const start = this.#take(groupStart);
    const [, flags = '', end = ':'] = start ?? [];
    if (start === null) this.#at += 1;
    if (/^[^-]*i/.test(flags)) this.ignoresCase = true;
    const isNamed = start !== null && start[1] === undefined;
    if (end === ':') this.#frames.push({ size: 0, last: 0, own: start === null || isNamed ? 2 : 0 });
  }

  #repeat(): void {
    const [found, min, max] = this.#take(repetition) ?? [];
    if (found === undefined) {
      this.#at += 1;
      return this.#add(1);
    }
    const times = Math.max(Number(min), Number(max ?? 0), max === '' ? 1 : 0);
    const frame = this.#frame;
    frame.size += frame.last * (times - 1);
    frame.last *= times;
  }

  /** Reads a class in brackets, and counts the characters of its ranges. */
  #class(): void {
    this.#take(/\[\^?\]?/y);
    while (this.#at < this.#source.length && this.#source.charAt(this.#at) !== ']') {
      const from = this.#character();
      if (this.#source.charAt(this.#at) !== '-' || from === null) continue;
      this.#at += 1;
      const to = this.#source.charAt(this.#at) === ']' ? null : this.#character();
      if (to !== null) this.ranges += Math.max(0, to - from);
    }
    this.#at += 1;
    this.#add(1);
  }

  /** Reads one character of a class. Null: it is a class of its own. */
  #character(): number | null {
    if (this.#take(posixClass) !== null) return null;
    if (this.#take(namedClass) !== null) {
      this.classes += 1;
      return null;
    }
    const [found, long, short] = this.#take(codePoint) ?? [];
    if (found !== undefined) return Number.parseInt(long ?? short ?? '0', 16);
    if (this.#source.charAt(this.#at) === '\\') this.#at += 1;
    const character = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += character > 0xffff ? 2 : 1;
    return character;
  }
}

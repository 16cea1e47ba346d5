// What a program says while nobody listens, for who listens next. It may say anything at any time, so only the newest of it
// is kept.
export interface Unheard {
  add(text: string): void;
  /** All that is kept, oldest first; then nothing is. */
  take(): readonly string[];
}

const countMax = 200;
const lengthMax = 1_048_576;

export function createUnheard(): Unheard {
  let texts: string[] = [];
  let length = 0;
  return {
    add: (text) => {
      texts.push(text);
      length += text.length;
      while (texts.length > countMax || length > lengthMax) length -= texts.shift()?.length ?? 0;
    },
    take: () => {
      const all = texts;
      texts = [];
      length = 0;
      return all;
    },
  };
}

// Stores messages that a program sends while no reader is connected, for the next reader. A program may send anything
// at any time, so only the newest messages are kept.
export interface UnreadMessages {
  add(text: string): void;
  /** Returns all stored messages, oldest first, and clears the store. */
  take(): readonly string[];
}

const countMax = 200;
const lengthMax = 1_048_576;

export function createUnreadMessages(): UnreadMessages {
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

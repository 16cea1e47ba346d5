// Why settings of a host are left as they are, with the place.
export class BadSettings extends Error {
  override readonly name = 'BadSettings';

  constructor(text: string, at: number, words: string) {
    const before = text.slice(0, at).split('\n');
    super(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${words}`);
  }
}

/** The last check before a file is written: what an edit came to is not what it was to be. */
export const unprovenEdit = (text: string, at: number, what: string): BadSettings =>
  new BadSettings(text, at, `${what} cannot be changed here without changing something else; edit it by hand`);

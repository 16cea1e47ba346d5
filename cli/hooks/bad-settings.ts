// Says why the settings of a host are left unchanged, with the place.
export class BadSettings extends Error {
  override readonly name = 'BadSettings';

  constructor(text: string, at: number, words: string) {
    const before = text.slice(0, at).split('\n');
    super(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${words}`);
  }
}

/** For the last check before a file is written: the result of an edit is not the intended one. */
export const unprovenEdit = (text: string, at: number, what: string): BadSettings =>
  new BadSettings(text, at, `${what} cannot be changed here without changing something else; edit it by hand`);

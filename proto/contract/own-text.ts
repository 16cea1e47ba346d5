// In V8, a part of a text made by `slice` or a JSON reader is a view that keeps the whole text in memory. Code that
// keeps a part longer than the text, for example as the key of a cache, must keep a copy of its own.

/** Returns a copy of the text, which keeps no other text in memory. */
export const ownText = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

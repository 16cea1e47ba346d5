// Copies a part of a text, so that the part does not keep the whole text in memory. In V8, a part made by `slice` or by
// a JSON reader is a view of the whole text. Code that still needs a part after the text is no longer needed, for
// example as the key of a cache, must keep a copy.

/** Returns a copy of the text, which keeps no other text in memory. */
export const ownText = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

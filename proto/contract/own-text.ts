// A part of a text, as `slice` and JSON readers make it, is to V8 a view that keeps the whole text in memory. Whoever keeps a
// part for longer than the text, as the key of a cache for example, keeps a copy of its own.

/** The same text, which keeps no other one in memory. */
export const ownText = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');

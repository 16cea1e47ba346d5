// Pages of lists that are whole unless a limit is asked for. A page begins after a position, which is a part of the last
// item of the page before it. So items that are added or removed between two pages move no other item to another page.

/** The part of a list that is asked for. */
export interface PageWanted<P> {
  /** The largest number of items. Null: all of them. */
  readonly limit: number | null;
  /** Only items after this position. Null: from the first item on. */
  readonly after: P | null;
}

interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page. Absent on the last page. */
  readonly next?: string;
}

/** One item more than the page has is read: it says whether there is another page. */
export const oneMore = (limit: number | null): number | null => (limit === null ? null : limit + 1);

/** `found`: the items of the page, and perhaps one more. */
export function pageOf<T>(found: readonly T[], limit: number | null, cursorOf: (last: T) => string): Page<T> {
  const items = limit === null ? found : found.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(last !== undefined && found.length > items.length ? { next: cursorOf(last) } : {}) };
}

/** Returns a cursor for a list whose order is that of a text, such as a name. */
export const cursorOfText = (text: string): string => Buffer.from(text).toString('base64url');

/** Returns the text in a cursor. Null: it is not a text that an item can have. */
export function textInCursor(cursor: string, isPossible: (text: string) => boolean): string | null {
  const text = Buffer.from(cursor, 'base64url').toString();
  return isPossible(text) ? text : null;
}

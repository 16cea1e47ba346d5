// Parses what a query says about the page of a list: `limit` and `cursor`.
import { parseLimit } from '../audit/rules/audit-query.ts';
import { badRequest } from '../base/refusal.ts';

/**
 * Parses the parameter `limit` of a query. A value outside the bounds is replaced by the nearest bound. Throws
 * `bad_request` if it is not an integer.
 */
export function limitOf(text: string): number {
  const limit = parseLimit(text);
  if (limit === null) throw badRequest('limit must be an integer');
  return limit;
}

/** The same for a list that is whole without the parameter. Null: the whole list. */
export const limitOrAll = (text: string | undefined): number | null => (text === undefined ? null : limitOf(text));

/** Returns the position that `cursor` names. Null: the list is read from its beginning. Throws `bad_request`. */
export function positionOf<P>(cursor: string | undefined, parse: (cursor: string) => P | null): P | null {
  if (cursor === undefined) return null;
  const position = parse(cursor);
  if (position === null) throw badRequest('cursor must be the `next` of an earlier answer');
  return position;
}

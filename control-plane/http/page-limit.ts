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

import { parseLimit } from '../audit/rules/audit-query.ts';
import { badRequest } from '../base/refusal.ts';

/** Parses `limit` of a query and clamps it to its bounds. Throws `bad_request`. */
export function limitOf(text: string): number {
  const limit = parseLimit(text);
  if (limit === null) throw badRequest('limit must be an integer');
  return limit;
}

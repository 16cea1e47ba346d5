// Finds a method that a query, a form or JSON names in addition to the request's method. Some frameworks use it
// (`_method=DELETE`). If a tool's calls are named by their method, it would make a different call from the one that was
// decided.
import type { Body } from './body.ts';
import type { Pairs } from './target.ts';

interface Parts {
  readonly query: Pairs;
  readonly body: Body;
  readonly bytes: Uint8Array;
}

/** The part with the override. Null: there is no override. */
export function methodOverride({ query, body, bytes }: Parts): string | null {
  if (Object.keys(query).some(isOverride)) return 'query';
  const { value } = body;
  if ((body.form === 'json' || body.form === 'fields') && typeof value === 'object' && value !== null)
    return Object.keys(value).some(isOverride) ? 'body' : null;
  const isMultipart = body.contentType.toLowerCase().startsWith('multipart/');
  return isMultipart && fieldName.test(Buffer.from(bytes).toString('latin1')) ? 'body' : null;
}

const overrides = new Set(['-method', 'x-http-method', 'x-http-method-override', 'x-method-override', '$httpmethod']);

/** Also matches `.method` and `_method[]`, which PHP treats as the same. */
const isOverride = (name: string): boolean => overrides.has((name.split('[', 1)[0] ?? '').trim().toLowerCase().replaceAll(/[ ._]/g, '-'));

const fieldName = /\bname\*?\s*=\s*(?:utf-8'[a-z-]*')?"?\s*(?:[ ._]method|x[-_](?:http[-_])?method)/i;

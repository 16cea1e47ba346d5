// Converts an HTTP request to the input of a tool call, and the decided input back to a request. The forwarded request
// is built only from the decided input, which contains everything that a caller may send to a tool's server.
import type { Headers } from '../entrance/caller-headers.ts';
import { type BadBody, type Body, bodyBytes, readBody } from './body.ts';
import { isPairs, isPath, type Pairs, parseTarget, pathText, queryText } from './target.ts';

/** The input that conditions read, and that is recorded and redacted. Empty parts are absent. */
interface HttpInput {
  readonly method: string;
  /** Decoded path after the tool's name. */
  readonly path: string;
  readonly query?: Pairs;
  /** The caller's headers that the tool accepts, and those that conditions name. A list: the header occurs several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

export interface HttpAsked {
  readonly input: HttpInput;
  readonly body: Body;
  /** The names of the headers in the input that are forwarded from there. */
  readonly forwarded: ReadonlySet<string>;
}

export interface RawRequest {
  readonly method: string;
  /** The path and the query as they are in the request line. */
  readonly target: string;
  /** The part of the path before the tool's own path. */
  readonly prefix: string;
  readonly contentType: string | undefined;
  /** The caller's headers that may be forwarded. */
  readonly forwarded: Headers;
  /** The caller's headers that conditions name: see `namedHeaders`. */
  readonly named: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Uint8Array;
  /** True: the tool's name contains the method, so no part of the request may name another method. */
  readonly byMethod: boolean;
}

/**
 * Returns the headers that conditions name. A tool may read any occurrence of a header, many servers read `_` in a name as
 * `-`, and they read bytes that are not ASCII in different ways. Such a header is a list, and no text.
 */
export function namedHeaders(names: ReadonlySet<string>, pairs: Iterable<readonly [name: string, value: string]>): RawRequest['named'] {
  if (names.size === 0) return {};
  const bySpelling = new Map<string, (readonly [string, string])[]>();
  for (const [name, value] of pairs) {
    const spelling = spellingOf(name);
    bySpelling.set(spelling, [...(bySpelling.get(spelling) ?? []), [name.toLowerCase(), value]]);
  }
  return Object.fromEntries(
    [...names].flatMap((name) => {
      const found = bySpelling.get(spellingOf(name)) ?? [];
      const [first] = found;
      if (first === undefined) return [];
      const [spelled, value] = first;
      const isText = found.length === 1 && spelled === name && visible.test(value);
      return [[name, isText ? value : found.map(([, each]) => each)] as const];
    }),
  );
}

const spellingOf = (name: string): string => name.toLowerCase().replaceAll('_', '-');

export function readHttpInput(request: RawRequest): HttpAsked | BadBody {
  const target = parseTarget(request.target, request.prefix);
  if ('problem' in target) return { status: 400, problem: `the path ${target.problem}` };
  const body = readBody(request.body, request.contentType);
  if ('problem' in body) return body;
  const override = request.byMethod ? methodOverride({ query: target.query, body, bytes: request.body }) : null;
  if (override !== null) return { status: 400, problem: `the ${override} names another method than the request's` };
  const forwarded = Object.entries(request.forwarded).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === undefined ? [] : [[name, text] as const];
  });
  const odd = forwarded.find(([, text]) => !visible.test(text));
  if (odd !== undefined) return { status: 400, problem: `the header ${odd[0]} holds a character that is not ASCII` };
  const headers = { ...request.named, ...Object.fromEntries(forwarded) };
  const input: HttpInput = {
    method: request.method,
    path: target.path,
    ...(Object.keys(target.query).length === 0 ? {} : { query: target.query }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(body.form === 'none' ? {} : { body: body.value }),
  };
  return { input, body, forwarded: new Set(forwarded.map(([name]) => name)) };
}

const visible = /^[\t -~]*$/;

const textOf = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'object' ? value.join(', ') : value;

/** The parts of the request that is sent to a tool's server. */
export interface HttpForward {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Builds the request from a decided input. Null: after redaction it is not a valid request. */
export function forwardOf({ input: asked, body, forwarded }: HttpAsked, decided: unknown): HttpForward | null {
  if (!isFields(decided) || decided['method'] !== asked.method) return null;
  const { path, query = {}, headers = {}, body: value } = decided;
  if (!isPath(path) || !isPairs(query) || !isFields(headers)) return null;
  const bytes = bodyBytes(body, value);
  const kept = [...forwarded].flatMap((name) => {
    const text = Object.hasOwn(headers, name) ? headers[name] : undefined;
    return typeof text === 'string' && visible.test(text) ? [[name, text] as const] : [];
  });
  // If a header is missing, redaction has changed its name. Then the request cannot be sent.
  if (bytes === null || kept.length !== forwarded.size) return null;
  return { path: pathText(path), query: queryText(query), headers: Object.fromEntries(kept), bytes };
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Some frameworks use a second method that a query, a form or JSON contains (`_method=DELETE`), instead of the method
// of the request. This code finds such a second method. If the method is part of a tool's name, a request with a second
// method would make a different call from the one that was decided.

interface Parts {
  readonly query: Pairs;
  readonly body: Body;
  readonly bytes: Uint8Array;
}

/** Returns the part of the request that names a method. Null: no part does. */
function methodOverride({ query, body, bytes }: Parts): string | null {
  if (Object.keys(query).some(isOverride)) return 'query';
  const { value } = body;
  if ((body.form === 'json' || body.form === 'fields') && typeof value === 'object' && value !== null)
    return Object.keys(value).some(isOverride) ? 'body' : null;
  const isMultipart = body.contentType.toLowerCase().startsWith('multipart/');
  return isMultipart && fieldName.test(Buffer.from(bytes).toString('latin1')) ? 'body' : null;
}

const overrides = new Set(['-method', 'x-http-method', 'x-http-method-override', 'x-method-override', '$httpmethod']);

/**
 * Whether some frameworks read a field of this name as the method. `.method` and `_method[]` match too, because PHP
 * treats them like `_method`.
 */
const isOverride = (name: string): boolean => overrides.has((name.split('[', 1)[0] ?? '').trim().toLowerCase().replaceAll(/[ ._]/g, '-'));

const fieldName = /\bname\*?\s*=\s*(?:utf-8'[a-z-]*')?"?\s*(?:[ ._]method|x[-_](?:http[-_])?method)/i;

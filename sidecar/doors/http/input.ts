// Converts an HTTP request to the input of a tool call, and the decided input back to a request. The forwarded request
// is built only from the decided input, which contains everything that a caller may send to a tool's server.
import type { Headers } from '../entrance/caller-headers.ts';
import { type BadBody, type Body, bodyBytes, readBody } from './body.ts';
import { isPairs, isPath, type Pairs, parseTarget, pathText, queryText } from './target.ts';

/** The input that is recorded and redacted. Empty parts are absent. */
interface HttpInput {
  readonly method: string;
  /** Decoded path after the tool's name. */
  readonly path: string;
  readonly query?: Pairs;
  /** The caller's headers that the tool accepts. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface HttpAsked {
  readonly input: HttpInput;
  readonly body: Body;
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
  readonly body: Uint8Array;
  /** True: the tool's name contains the method, so no part of the request may name another method. */
  readonly byMethod: boolean;
}

export function readHttpInput(request: RawRequest): HttpAsked | BadBody {
  const target = parseTarget(request.target, request.prefix);
  if ('problem' in target) return { status: 400, problem: `the path ${target.problem}` };
  const body = readBody(request.body, request.contentType);
  if ('problem' in body) return body;
  const override = request.byMethod ? methodOverride({ query: target.query, body, bytes: request.body }) : null;
  if (override !== null) return { status: 400, problem: `the ${override} names another method than the request's` };
  const headers = Object.entries(request.forwarded).flatMap(([name, value]) => {
    const text = textOf(value);
    return text === undefined ? [] : [[name, text] as const];
  });
  const odd = headers.find(([, value]) => !visible.test(value));
  if (odd !== undefined) return { status: 400, problem: `the header ${odd[0]} holds a character that is not ASCII` };
  const input: HttpInput = {
    method: request.method,
    path: target.path,
    ...(Object.keys(target.query).length === 0 ? {} : { query: target.query }),
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(body.form === 'none' ? {} : { body: body.value }),
  };
  return { input, body };
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
export function forwardOf({ input: asked, body }: HttpAsked, decided: unknown): HttpForward | null {
  if (!isFields(decided) || decided['method'] !== asked.method) return null;
  const { path, query = {}, headers = {}, body: value } = decided;
  if (!isPath(path) || !isPairs(query) || !isFields(headers)) return null;
  const bytes = bodyBytes(body, value);
  const kept = Object.entries(headers).flatMap(([name, text]) =>
    typeof text === 'string' && visible.test(text) ? [[name, text] as const] : [],
  );
  // If a header name is not in the original input, redaction has changed it. Then the request cannot be sent.
  if (bytes === null || kept.length !== Object.keys(headers).length || kept.some(([name]) => asked.headers?.[name] === undefined))
    return null;
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

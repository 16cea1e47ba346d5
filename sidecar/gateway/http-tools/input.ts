// An HTTP request as the input of a tool call, and the request again that goes on: made of what was decided on and of
// nothing else. All that a caller may say to a tool's server is in it.
import type { Headers } from '../caller-headers.ts';
import { type BadBody, type Body, bodyBytes, readBody } from './body.ts';
import { methodOverride } from './method-override.ts';
import { isPairs, isPath, type Pairs, parseTarget, pathText, queryText } from './target.ts';

/** What is recorded and redacted; absent parts are empty. */
interface HttpInput {
  readonly method: string;
  /** Decoded, behind the tool's name. */
  readonly path: string;
  readonly query?: Pairs;
  /** Of the caller's headers those that the tool takes. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface HttpAsked {
  readonly input: HttpInput;
  readonly body: Body;
}

export interface RawRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  /** What stands before the tool's own path. */
  readonly prefix: string;
  readonly contentType: string | undefined;
  /** Of the caller's headers those that may go on with it. */
  readonly forwarded: Headers;
  readonly body: Uint8Array;
  /** Its name says its method: no part of it may name another. */
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

/** What goes on to a tool's server. */
export interface HttpForward {
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
}

/** Of an input as it was decided on; null where redaction has left none that can be sent. */
export function forwardOf({ input: asked, body }: HttpAsked, decided: unknown): HttpForward | null {
  if (!isFields(decided) || decided['method'] !== asked.method) return null;
  const { path, query = {}, headers = {}, body: value } = decided;
  if (!isPath(path) || !isPairs(query) || !isFields(headers)) return null;
  const bytes = bodyBytes(body, value);
  const kept = Object.entries(headers).flatMap(([name, text]) =>
    typeof text === 'string' && visible.test(text) ? [[name, text] as const] : [],
  );
  // A header under another name than the tool takes is one that redaction has made.
  if (bytes === null || kept.length !== Object.keys(headers).length || kept.some(([name]) => asked.headers?.[name] === undefined))
    return null;
  return { path: pathText(path), query: queryText(query), headers: Object.fromEntries(kept), bytes };
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Selects the headers that pass between a caller and a tool's server. Requests use an allow-list, because these headers
// are not part of the input that was decided. Answers use a list of excluded headers.
import type { IncomingHttpHeaders } from 'node:http';
import type { Numbers, Redactor } from '../../engine/redact/index.ts';
import { besidesIn, headersBesides, unboundName } from '../besides.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import type { HttpTool } from '../../upstream/http-tool-definition.ts';
import type { HttpAsked } from './input.ts';

// Headers for content negotiation and tracing. A value with a fixed format may be forwarded unchanged. Other values are
// redacted if the policy redacts the input.
const negotiated = [
  'accept',
  'accept-language',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'traceparent',
  'tracestate',
  'user-agent',
];

interface HeadersToForward {
  readonly tool: HttpTool;
  readonly caller: Headers;
  /** The headers in the decided input. */
  readonly decided: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly bytes: number;
  readonly host: string;
  /** True: the answer will be inspected here, so it must be complete and not compressed. */
  readonly reads: boolean;
  readonly requestId: string;
  readonly method: string;
  readonly redact: RedactHeader | null;
  /** True: a person has approved the call. */
  readonly isApproved: boolean;
}

/** Returns the redacted value. It is unchanged if nothing is found. */
type RedactHeader = (value: string) => string;

export const headerRedaction =
  (redactor: Redactor, numbers: Numbers): RedactHeader =>
  (value) =>
    redactor.redactText(value, numbers).text;

/**
 * Builds the headers of the request to the tool's server. Headers of the caller's connection are not forwarded, and our
 * own headers come last.
 */
export function requestHeaders({
  tool,
  caller,
  decided,
  contentType,
  bytes,
  host,
  reads,
  requestId,
  method,
  redact,
  isApproved,
}: HeadersToForward): Record<string, string> {
  const hasBody = bytes > 0 || !bodyless.has(method);
  const picked = redacted(pick({}, caller, negotiated), redact);
  // These headers request a compressed or partial answer. A compressed answer cannot be read, and a partial answer may
  // contain half of a secret.
  if (reads) picked['accept-encoding'] = 'identity';
  else pick(picked, caller, partial);
  if (isApproved) delete picked[unboundName];
  const headers: Record<string, string> = { ...picked, ...decided };
  if (contentType !== '') headers['content-type'] = contentType;
  Object.assign(headers, tool.headers);
  if (hasBody) headers['content-length'] = String(bytes);
  headers['host'] = host;
  headers['x-tollgate-request-id'] = requestId;
  return headers;
}

const partial = ['accept-encoding', 'range', 'if-range'];

/** Returns what a tool receives of a request besides its input, as people are shown it. */
export function besidesOf(caller: Headers, { body, forwarded }: HttpAsked): Readonly<Record<string, unknown>> {
  const picked = pick(pick({}, caller, negotiated), caller, partial);
  for (const name of forwarded) delete picked[name];
  // The same JSON may be a document or a change of one.
  if (body.contentType !== '' && body.contentType !== 'application/json') picked['content-type'] = body.contentType;
  return besidesIn({ headers: headersBesides(picked) });
}
const bodyless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Returns the headers without those that concern only the caller's connection. */
export function endToEnd(headers: IncomingHttpHeaders): Headers {
  const { connection } = headers;
  if (connection === undefined) return headers;
  // These values name no header that could be forwarded. Most connections have one of them.
  if (connection === 'keep-alive' || connection === 'close') return { ...headers, connection: undefined, [connection]: undefined };
  const named = new Set(
    connection
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'connection' && !named.has(name)));
}

/** Adds the headers of these names to `picked`. Returns `picked`. */
function pick(picked: Record<string, string>, headers: Headers, names: readonly string[]): Record<string, string> {
  for (const name of names) {
    const value = headers[name];
    if (typeof value === 'string' && valid.test(value)) picked[name] = value;
  }
  return picked;
}

function redacted(headers: Record<string, string>, redact: RedactHeader | null): Record<string, string> {
  const { traceparent } = headers;
  if (traceparent !== undefined && !traceParent.test(traceparent)) delete headers['traceparent'];
  if (redact === null) return headers;
  for (const [name, value] of Object.entries(headers)) if (name !== 'traceparent' && !date.test(value)) headers[name] = redact(value);
  return headers;
}

const traceParent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const date = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a header may hold.
const valid = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

// Headers of an answer that the caller does not receive: those of the connection to the server, those of its sessions
// (which belong to Tollgate and not to the caller), and those of Tollgate itself.
const left =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|alt-svc|strict-transport-security|x-tollgate-.*|content-length)$/;
// Headers with a fixed format. They are not redacted if the value has that format.
const structural: Readonly<Record<string, RegExp>> = {
  date,
  expires: /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT|0|-1)$/,
  'last-modified': date,
  age: /^\d{1,9}$/,
  'retry-after': /^(?:\d{1,9}|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)$/,
  'access-control-max-age': /^\d{1,9}$/,
  'accept-ranges': /^(?:bytes|none)$/,
  'cache-control': /^(?:[a-z][a-z-]{1,30}(?:=\d{1,9})?(?:, ?|$)){1,12}$/,
  'content-encoding': /^(?:identity|gzip|br|deflate|zstd)$/,
  'content-type': /^[a-z]{1,20}\/[a-z][a-z.+-]{0,40}(?:; ?charset=(?:utf-8|UTF-8))?$/,
};

type ResponseHeaders = Record<string, string | string[]>;

/**
 * Returns the headers of a server's answer that the caller receives. Their values are redacted if the policy redacts
 * the output.
 */
export function responseHeaders(from: IncomingHttpHeaders, redact: RedactHeader | null): ResponseHeaders {
  const clean = (name: string, value: string): string =>
    redact === null || structural[name]?.test(value) === true ? value : redact(value);
  const kept: [string, string | string[]][] = [];
  for (const [key, value] of Object.entries(endToEnd(from))) {
    const name = key.toLowerCase();
    if (value === undefined || left.test(name) || (redact !== null && saysToo(name, redact))) continue;
    if (typeof value === 'string') {
      if (valid.test(value)) kept.push([name, clean(name, value)]);
    } else {
      const values = value.filter((one) => valid.test(one)).map((one) => clean(name, one));
      if (values.length > 0) kept.push([name, values.length === 1 ? (values[0] ?? '') : values]);
    }
  }
  return Object.fromEntries(kept);
}

/**
 * Whether a header name contains something to redact. Names become lower case in transit, so the upper-case form is
 * checked too.
 */
function saysToo(name: string, redact: RedactHeader): boolean {
  if (name.length < nameLengthMin || structural[name] !== undefined) return false;
  return [name, name.toUpperCase()].some((spelled) => redact(spelled) !== spelled);
}

// No detector finds a secret in a shorter name.
const nameLengthMin = 8;

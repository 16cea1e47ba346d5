// Which headers go from a caller to a tool's server and back. A closed list there, because what is on it is not part of
// the input; a list of what is left out on the way back.
import type { IncomingHttpHeaders } from 'node:http';
import type { Numbers, Redactor } from '../../redact/index.ts';
import type { Headers } from '../caller-headers.ts';
import type { HttpTool } from './definition.ts';

// How the answer is to look, and how the call is traced. What is of a form of its own may go on as it is; the rest is
// redacted where policy redacts the input.
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

interface Asked {
  readonly tool: HttpTool;
  readonly caller: Headers;
  /** Of the input as it was decided on. */
  readonly decided: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly bytes: number;
  readonly host: string;
  /** Whether anything of the answer is to be read here. */
  readonly reads: boolean;
  readonly requestId: string;
  readonly method: string;
  readonly redact: RedactHeader | null;
}

/** What of a value may go on; itself where nothing is found. */
type RedactHeader = (value: string) => string;

export const headerRedaction =
  (redactor: Redactor, numbers: Numbers): RedactHeader =>
  (value) =>
    redactor.redactText(value, numbers).text;

/** Made anew: nothing of the caller's connection, and ours last. */
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
}: Asked): Record<string, string> {
  const hasBody = bytes > 0 || !['GET', 'HEAD', 'DELETE', 'OPTIONS'].includes(method);
  return {
    ...redacted(pick(caller, negotiated), redact),
    // A part of an answer may be half of a secret, and what is compressed cannot be read.
    ...(reads ? {} : pick(caller, ['accept-encoding', 'range', 'if-range'])),
    ...(reads ? { 'accept-encoding': 'identity' } : {}),
    ...decided,
    ...(contentType === '' ? {} : { 'content-type': contentType }),
    ...tool.headers,
    ...(hasBody ? { 'content-length': String(bytes) } : {}),
    host,
    'x-tollgate-request-id': requestId,
  };
}

/** Without what a caller says of its connection alone. */
export function endToEnd(headers: IncomingHttpHeaders): Headers {
  const { connection } = headers;
  if (connection === undefined) return headers;
  const named = new Set(
    connection
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'connection' && !named.has(name)));
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
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

// Of the connection to the server; of its sessions, which are ours and not the caller's; and ours.
const left =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|alt-svc|strict-transport-security|x-tollgate-.*|content-length)$/;
// What is of a form of its own and no text, where it has that form.
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

/** What of a server's headers goes back; what of it is redacted where policy redacts the output. */
export function responseHeaders(from: IncomingHttpHeaders, redact: RedactHeader | null): ResponseHeaders {
  const clean = (name: string, value: string): string =>
    redact === null || structural[name]?.test(value) === true ? value : redact(value);
  const kept: [string, string | string[]][] = [];
  for (const [key, value] of Object.entries(endToEnd(from))) {
    const name = key.toLowerCase();
    if (value === undefined || left.test(name) || (redact !== null && saysToo(name, redact))) continue;
    const values = (typeof value === 'string' ? [value] : value).filter((one) => valid.test(one)).map((one) => clean(name, one));
    if (values.length > 0) kept.push([name, values.length === 1 ? (values[0] ?? '') : values]);
  }
  return Object.fromEntries(kept);
}

/** A name may be a finding too; on its way here it has become lower case. */
function saysToo(name: string, redact: RedactHeader): boolean {
  if (name.length < nameLengthMin || structural[name] !== undefined) return false;
  return [name, name.toUpperCase()].some((spelled) => redact(spelled) !== spelled);
}

// Shorter ones hold no secret that anything finds.
const nameLengthMin = 8;

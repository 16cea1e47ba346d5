// Reads an HTTP tool from the gateway file: the address of its server, the headers that we send, and the parts of a
// caller's request that are forwarded. The file is read once, at start, and all problems are collected.
import { headerNameProblem, headerValueProblem, serverUrlProblem } from '@tollgate/proto/contract';
import type { EntryReader } from './entry-reader.ts';

export interface HttpTool {
  /** The origin of the server, such as `http://host:port`. */
  readonly origin: string;
  /** The prefix of the path of every request. Empty, or begins with a slash and does not end with one. */
  readonly basePath: string;
  /** The headers that we send, with names in lower case. They replace a caller's headers with the same names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The names of the caller's headers that are forwarded, in lower case. These headers are part of the input. */
  readonly forwardHeaders: readonly string[];
  readonly methods: readonly Method[];
  /** True: its calls are named `name.METHOD`, so a rule can distinguish reads from writes. */
  readonly nameByMethod: boolean;
  /** Timeout until the server begins its answer, in ms. */
  readonly timeoutMs: number;
}

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
type Method = (typeof methods)[number];

type Fields = Readonly<Record<string, unknown>>;

/** Returns the HTTP tool. Null: there is a problem, which the reader stores. */
export function readHttpTool(reader: EntryReader, fields: Fields, path: string): HttpTool | null {
  reader.only(fields, path, ['url', 'headers', 'forwardHeaders', 'methods', 'nameByMethod', 'timeoutMs']);
  const url = reader.text(fields['url'], `${path}.url`, urlProblem);
  const headers = reader.named(fields['headers'], `${path}.headers`, { name: ownHeaderProblem, value: headerValueProblem });
  const lowerCase = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const ours = Object.fromEntries(lowerCase);
  if (Object.keys(ours).length < lowerCase.length) reader.report(`${path}.headers`, 'names a header twice');
  const forwardHeaders = readForwardHeaders(reader, fields, path);
  const chosen = readMethods(reader, fields, path);
  const nameByMethod = fields['nameByMethod'] ?? false;
  if (typeof nameByMethod !== 'boolean') reader.report(`${path}.nameByMethod`, 'must be true or false');
  const timeoutMs = readTimeout(reader, fields, path);
  if (url === null) return null;
  const { origin, pathname } = new URL(url);
  const basePath = pathname.replace(/\/$/, '');
  return { origin, basePath, headers: ours, forwardHeaders, methods: chosen, nameByMethod: nameByMethod === true, timeoutMs };
}

const urlProblem = (text: string): string | null =>
  serverUrlProblem(text, true) ?? (new URL(text).search === '' ? null : 'must not have a query');

// The gateway file must not name these headers. The headers `x-tollgate-*` make statements about a caller, and these
// statements are only for us. The proxy itself sets the other headers.
const ours = /^(?:x-tollgate-.*|expect|content-encoding|content-type)$/i;

const ownHeaderProblem = (name: string): string | null =>
  headerNameProblem(name) ?? (ours.test(name) ? 'is a header that the proxy itself sets' : null);

// These headers are never forwarded. A caller's key or session is only for us and must never reach a tool's server.
const neverForwarded = /^(?:authorization|cookie|x-forwarded-.*|forwarded|via|x-real-ip|accept-encoding)$/i;

function readForwardHeaders(reader: EntryReader, fields: Fields, path: string): readonly string[] {
  if (fields['forwardHeaders'] === undefined) return [];
  const names = reader.texts(fields['forwardHeaders'], `${path}.forwardHeaders`);
  for (const [at, name] of names.entries()) {
    const problem =
      ownHeaderProblem(name) ?? (neverForwarded.test(name) ? "belongs to the caller's connection, and is never forwarded" : null);
    if (problem !== null) reader.report(`${path}.forwardHeaders[${at}]`, problem);
  }
  return names.map((name) => name.toLowerCase());
}

function readMethods(reader: EntryReader, fields: Fields, path: string): readonly Method[] {
  if (fields['methods'] === undefined) return methods;
  const names = reader.texts(fields['methods'], `${path}.methods`);
  const chosen = methods.filter((method) => names.includes(method));
  if (chosen.length === 0 || chosen.length < names.length) reader.report(`${path}.methods`, `must be a list of ${methods.join(', ')}`);
  return chosen;
}

const defaultTimeoutMs = 120_000;
const timeoutMsMax = 3_600_000;

function readTimeout(reader: EntryReader, fields: Fields, path: string): number {
  const timeoutMs = fields['timeoutMs'] ?? defaultTimeoutMs;
  if (typeof timeoutMs === 'number' && Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= timeoutMsMax) return timeoutMs;
  reader.report(`${path}.timeoutMs`, `must be whole milliseconds, from 1 to ${timeoutMsMax}`);
  return defaultTimeoutMs;
}

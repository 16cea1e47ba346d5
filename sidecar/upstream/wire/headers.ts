// Reads the headers of a request and checks those that repeat values of the body. Only headers that are named here are
// forwarded. The key identifies the client, and the key is not forwarded.
import { decodeHeaderValue, encodeHeaderValue, type ParamHeader, paramText, sameParam } from './header-values.ts';
import { type BadMessage, type ClientMessage, type ClientRequest, isFields } from './message.ts';
import { type Era, nameFieldOf } from './methods.ts';
import { rpcErrors } from './rpc.ts';

/** The newest revision of MCP, which has no sessions. All older revisions are handled alike. */
export const modernVersion = '2026-07-28';
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';

export interface McpHeaders {
  readonly accept: string | null;
  readonly version: string | null;
  readonly sessionId: string | null;
  readonly lastEventId: string | null;
  readonly method: string | null;
  readonly name: string | null;
  /** The headers that begin with `mcp-param-`, by lower-case name without this prefix. */
  readonly params: ReadonlyMap<string, string>;
}

const lengthMax = 4_096;
const visible = /^[\t -~]*$/;

/** Returns the headers. `problem`: a header is duplicated or has an invalid value. */
export function readMcpHeaders(all: Readonly<Record<string, readonly string[] | undefined>>): McpHeaders | { readonly problem: string } {
  const params = new Map<string, string>();
  for (const name of Object.keys(all)) {
    const values = all[name];
    if (values === undefined || !(name.startsWith('mcp-') || singleHeaders.has(name))) continue;
    if (values.length > 1) return { problem: `the header ${name} appears twice` };
    const value = values[0] ?? '';
    if (value.length > lengthMax || !visible.test(value))
      return { problem: `the header ${name} must be at most ${lengthMax} characters of printable ASCII` };
    if (name.startsWith('mcp-param-')) params.set(name.slice('mcp-param-'.length), value);
  }
  const one = (name: string): string | null => all[name]?.[0] ?? null;
  return {
    accept: one('accept'),
    version: one('mcp-protocol-version'),
    sessionId: one('mcp-session-id'),
    lastEventId: one('last-event-id'),
    method: one('mcp-method'),
    name: one('mcp-name'),
    params,
  };
}

const singleHeaders = new Set(
  (
    'authorization accept content-type content-length content-encoding host origin last-event-id ' +
    'x-tollgate-agent x-tollgate-tier x-tollgate-session'
  ).split(' '),
);

const revision = /^\d{4}-\d{2}-\d{2}$/;
const isModern = (version: string | null): boolean => version !== null && revision.test(version) && version >= modernVersion;

/** Returns the era of a message, or the reason why it cannot be determined. */
export function eraOf(message: ClientMessage, { version, method }: McpHeaders): { readonly era: Era } | { readonly bad: BadMessage } {
  const bad = (code: number, problem: string): { readonly bad: BadMessage } => ({ bad: { code, problem, id: idOf(message) } });
  if (message.kind === 'response')
    return isModern(version) ? bad(rpcErrors.request, `clients send no responses in revision ${modernVersion}`) : { era: 'legacy' };
  const meta = message.params['_meta'];
  const claimed = isFields(meta) ? meta[versionKey] : undefined;
  if (claimed !== undefined && typeof claimed !== 'string') return bad(rpcErrors.params, `params._meta["${versionKey}"] must be text`);
  if (claimed === undefined) {
    if (!isModern(version)) return { era: 'legacy' };
    if (message.kind === 'notification') return mismatchedMethod(message, method) ?? { era: 'modern' };
    return message.method === 'initialize'
      ? bad(rpcErrors.headers, `initialize belongs to revisions before ${modernVersion}, and the header names ${modernVersion}`)
      : bad(rpcErrors.params, `params._meta["${versionKey}"] is missing`);
  }
  if (version !== null && version !== claimed)
    return bad(rpcErrors.headers, 'MCP-Protocol-Version and params._meta name different revisions');
  const mismatched = mismatchedMethod(message, method);
  if (mismatched !== null) return mismatched;
  if (claimed !== modernVersion) return { bad: { ...bad(rpcErrors.version, 'Unsupported protocol version').bad, requested: claimed } };
  if (message.kind === 'request' && !(isFields(meta) && isFields(meta[capabilitiesKey])))
    return bad(rpcErrors.params, `params._meta["${capabilitiesKey}"] must say what the client can do`);
  return { era: 'modern' };
}

const idOf = (message: ClientMessage): BadMessage['id'] => (message.kind === 'notification' ? null : message.id);

function mismatchedMethod(
  message: ClientMessage & { readonly method: string },
  header: string | null,
): { readonly bad: BadMessage } | null {
  if (header === null || header === message.method) return null;
  return { bad: { code: rpcErrors.headers, problem: 'Mcp-Method and the body name different methods', id: idOf(message) } };
}

/**
 * Returns a problem if the headers of a request of the newest revision do not repeat the required values of the body.
 * Null: there is no problem.
 */
export function headerProblem(message: ClientRequest, headers: McpHeaders): string | null {
  if (headers.version === null) return 'MCP-Protocol-Version is missing';
  if (headers.method === null) return 'Mcp-Method is missing';
  const field = nameFieldOf(message.method);
  if (field === null) return null;
  const value = message.params[field];
  if (headers.name === null) return typeof value === 'string' ? `Mcp-Name is missing: it repeats params.${field}` : null;
  const decoded = decodeHeaderValue(headers.name);
  if (decoded === null) return 'Mcp-Name has a value that cannot be read';
  return typeof value === 'string' && decoded !== value ? `Mcp-Name and params.${field} are different` : null;
}

/**
 * Returns a problem if the headers of a call do not repeat the arguments that its tool requires. Null: there is no
 * problem.
 */
export function paramHeaderProblem(declared: readonly ParamHeader[], args: unknown, { params }: McpHeaders): string | null {
  for (const one of declared) {
    const text = paramText(args, one.path);
    if (text === null) continue;
    const header = params.get(one.name.toLowerCase());
    if (header === undefined) return `Mcp-Param-${one.name} is missing`;
    const decoded = decodeHeaderValue(header);
    if (decoded === null) return `Mcp-Param-${one.name} has a value that cannot be read`;
    if (!sameParam(one, decoded, text)) return `Mcp-Param-${one.name} and the argument are different`;
  }
  return null;
}

/**
 * Returns the headers to forward with a message. Headers that repeat values of the body are computed from the forwarded
 * message.
 */
export function requestHeaders(
  era: Era,
  message: ClientMessage,
  headers: McpHeaders,
  declared: readonly ParamHeader[] = [],
): Record<string, string> {
  const made: Record<string, string> = {
    'content-type': 'application/json',
    accept: headers.accept ?? 'application/json, text/event-stream',
    ...(headers.version === null ? {} : { 'mcp-protocol-version': headers.version }),
  };
  if (era === 'legacy') return { ...made, ...(headers.sessionId === null ? {} : { 'mcp-session-id': headers.sessionId }) };
  if (message.kind === 'response') return made;
  made['mcp-method'] = message.method;
  const field = nameFieldOf(message.method);
  const name = field === null ? undefined : message.params[field];
  if (typeof name === 'string') made['mcp-name'] = encodeHeaderValue(name);
  for (const one of declared) {
    const text = paramText(message.params['arguments'], one.path);
    if (text !== null) made[`mcp-param-${one.name.toLowerCase()}`] = encodeHeaderValue(text);
  }
  return made;
}

/** Returns the headers of a request without a body: to open or resume a stream, or to end a session. */
export const streamHeaders = ({ accept, version, sessionId, lastEventId }: McpHeaders): Record<string, string> => ({
  accept: accept ?? 'text/event-stream',
  ...(version === null ? {} : { 'mcp-protocol-version': version }),
  ...(sessionId === null ? {} : { 'mcp-session-id': sessionId }),
  ...(lastEventId === null ? {} : { 'last-event-id': lastEventId }),
});

/**
 * Returns the headers of the request that ends a session, computed from the headers of the request that began it. The
 * result is kept as long as the session.
 */
export const endHeaders = ({ version }: McpHeaders, sessionId: string): Record<string, string> => ({
  accept: 'text/event-stream',
  ...(version !== null && revision.test(version) ? { 'mcp-protocol-version': version } : {}),
  'mcp-session-id': sessionId,
});

// Tells what people are shown, besides the input, when they are asked about a call: all that the tool receives too. What
// says only how to carry or to answer a request, in its fixed form, is left out: it may differ each time the same call is
// made. In another form it is shown, and the approval is for it too, because a caller can write anything into it.
import { digestText } from '@tollgate/proto/contract';
import { isFields } from '../upstream/wire/message.ts';

type Fields = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

const names = String.raw`[a-z0-9*][a-z0-9*+./_-]{0,60}`;
const weighted = String.raw`${names}(?:; ?q=[01](?:\.\d{1,3})?)?`;
const list = new RegExp(String.raw`^${weighted}(?:, ?${weighted}){0,12}$`, 'i');
const digits = /^\d{1,12}$/;
const hex = /^[0-9a-f-]{1,64}$/i;
const addresses = /^[0-9a-f.:[\]]{1,60}(?:, ?[0-9a-f.:[\]]{1,60}){0,10}$/i;
const traceparent = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const forms: ReadonlyMap<string, RegExp> = new Map([
  ['accept', list],
  ['accept-encoding', list],
  ['accept-language', list],
  ['connection', /^(?:keep-alive|close)$/i],
  ['content-length', digits],
  ['content-type', /^application\/json(?:; ?charset=utf-8)?$/i],
  ['te', /^trailers$/i],
  ['transfer-encoding', /^chunked$/i],
  ['traceparent', traceparent],
  ['b3', /^[0-9a-f]{16,32}-[0-9a-f]{16}(?:-[01d](?:-[0-9a-f]{16})?)?$/],
  ['x-b3-traceid', hex],
  ['x-b3-spanid', hex],
  ['x-b3-parentspanid', hex],
  ['x-b3-sampled', /^[01]$/],
  ['x-b3-flags', /^[01]$/],
  ['x-request-id', hex],
  ['x-forwarded-for', addresses],
  ['x-forwarded-proto', /^https?$/],
  ['x-forwarded-port', digits],
  ['x-envoy-attempt-count', digits],
  ['x-envoy-auth-partial-body', /^false$/],
  ['x-envoy-expected-rq-timeout-ms', digits],
  ['x-envoy-external-address', addresses],
  ['x-envoy-internal', /^true$/],
  ['mcp-protocol-version', /^\d{4}-\d{2}-\d{2}$/],
]);

const plainText = /^[\w .,:;()@/+-]{0,100}$/;
const capabilityName = /^[\w./-]{1,60}$/;
const capabilityDepthMax = 4;

const isClientInfo = (value: unknown): boolean =>
  isFields(value) &&
  Object.entries(value).every(
    ([name, text]) => ['name', 'title', 'version'].includes(name) && typeof text === 'string' && plainText.test(text),
  );

const isCapabilities = (value: unknown, depth = 0): boolean =>
  typeof value === 'boolean' ||
  (isFields(value) &&
    depth < capabilityDepthMax &&
    Object.entries(value).every(([name, part]) => capabilityName.test(name) && isCapabilities(part, depth + 1)));

const matches =
  (form: RegExp) =>
  (value: unknown): boolean =>
    typeof value === 'string' && form.test(value);

const metaForms: ReadonlyMap<string, (value: unknown) => boolean> = new Map<string, (value: unknown) => boolean>([
  ['progressToken', (value) => typeof value === 'number' || matches(/^[\w.:-]{1,64}$/)(value)],
  ['traceparent', matches(traceparent)],
  ['io.modelcontextprotocol/protocolVersion', matches(/^\d{4}-\d{2}-\d{2}$/)],
  ['io.modelcontextprotocol/clientInfo', isClientInfo],
  ['io.modelcontextprotocol/clientCapabilities', (value) => isFields(value) && isCapabilities(value)],
  ['io.modelcontextprotocol/logLevel', matches(/^[a-z]{1,10}$/)],
]);

/**
 * The header, and the member of `_meta`, that is removed from a call that a person has approved: it differs for each request,
 * and callers can put any text into it.
 */
export const unboundName = 'tracestate';

/**
 * Returns those of the headers that are shown. Their names are in lower case. `sessionId`: the session of the call, to which
 * the approval belongs.
 */
export function headersBesides(headers: Headers, sessionId: string | null = null): Fields {
  const isOwnSession = (value: string): boolean => value === sessionId || digestText(value) === sessionId;
  const isPlain = (name: string, value: string): boolean =>
    name === 'mcp-session-id' ? isOwnSession(value) : forms.get(name)?.test(value) === true;
  const isShown = ([name, value]: readonly [string, Headers[string]]): boolean =>
    value !== undefined && name !== unboundName && !(typeof value === 'string' && isPlain(name, value));
  return Object.fromEntries(Object.entries(headers).filter(isShown));
}

/**
 * Returns those of the params of an MCP request that are shown besides its input. `inInput`: the names of the params that the
 * input has. `removes`: whether the door removes `unboundName`.
 */
export function paramsBesides(params: Fields, inInput: (name: string) => boolean, removes: boolean): Fields {
  const { _meta: meta, ...all } = params;
  const others = Object.entries(all).filter(([name]) => !inInput(name));
  if (!isFields(meta)) return Object.fromEntries(others);
  const shown = Object.entries(meta).filter(([name, value]) => metaForms.get(name)?.(value) !== true && !(removes && name === unboundName));
  return Object.fromEntries([...others, ...(shown.length === 0 ? [] : [['_meta', Object.fromEntries(shown)] as const])]);
}

/** Returns the parts that are not empty. */
export const besidesIn = (parts: { readonly headers?: Fields; readonly params?: Fields }): Fields =>
  Object.fromEntries(Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0));

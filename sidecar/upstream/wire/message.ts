// Parses a client's message: one JSON-RPC message that every reader reads in the same way. It refuses what every strict
// parser refuses. It also refuses keys that a lenient reader could confuse with a key of the protocol, such as `Name`
// instead of `name`, or a key with a Cyrillic `е`.
import { bounds, canonicalJson } from '@tollgate/proto/contract';
import { parseStrict } from '../../engine/json/strict-json.ts';
import { type RpcId, rpcErrors } from './rpc.ts';

type Fields = Readonly<Record<string, unknown>>;

interface MethodMessage {
  readonly method: string;
  /** Empty if the message has none. */
  readonly params: Fields;
  /** Whether the message had `params`. */
  readonly hasParams: boolean;
}

export type ClientMessage =
  | (MethodMessage & { readonly kind: 'request'; readonly id: RpcId })
  | (MethodMessage & { readonly kind: 'notification' })
  | { readonly kind: 'response'; readonly id: RpcId; readonly body: Fields };

export type ClientRequest = ClientMessage & { readonly kind: 'request' };

export interface BadMessage {
  readonly code: number;
  readonly problem: string;
  /** The id of the message. Null: it has no id, or the id could not be read. */
  readonly id: RpcId | null;
  /** The requested revision, if it is not supported. */
  readonly requested?: string;
}

const idLengthMax = 256;
const methodLengthMax = 200;

export function parseMessage(body: Uint8Array): ClientMessage | { readonly bad: BadMessage } {
  const parsed = parseStrict(body);
  if ('problem' in parsed) return bad(`the body ${parsed.problem}`, null, rpcErrors.parse);
  const { value } = parsed;
  if (Array.isArray(value)) return bad('batches are not supported: send one message in each request');
  if (!isFields(value)) return bad('the body must be a JSON-RPC message');
  const id = isId(value['id']) ? value['id'] : null;
  if (value['jsonrpc'] !== '2.0') return bad('jsonrpc must be "2.0"', id);
  const strange = Object.keys(value).find((key) => !envelopeKeys.has(key));
  if (strange !== undefined) return bad(`the message has a key that JSON-RPC does not define, ${place(strange)}`, id);
  if ('id' in value && id === null) return bad(`id must be a whole number or a text of at most ${idLengthMax} characters`);
  return 'method' in value ? sent(value, id) : response(value, id);
}

const envelopeKeys = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

function sent(value: Fields, id: RpcId | null): ReturnType<typeof parseMessage> {
  const { method, params } = value;
  if (typeof method !== 'string' || method.length > methodLengthMax || !printable.test(method))
    return bad('method must be the name of a method', id);
  if ('result' in value || 'error' in value) return bad('a message is a request or a response, not both', id);
  if ('params' in value && !isFields(params)) return bad('params must be an object', id);
  const fields = isFields(params) ? params : {};
  const problem = keyProblem(fields, 'params', paramKeys) ?? metaProblem(fields['_meta']);
  if (problem !== null) return bad(problem, id, rpcErrors.params);
  const message = { method, params: fields, hasParams: 'params' in value };
  return id === null ? { kind: 'notification', ...message } : { kind: 'request', id, ...message };
}

function response(value: Fields, id: RpcId | null): ReturnType<typeof parseMessage> {
  if (id === null) return bad('a response must have the id of its request');
  if ('params' in value) return bad('a message is a request or a response, not both', id);
  if ('result' in value === 'error' in value) return bad('a response must have either a result or an error', id);
  return { kind: 'response', id, body: value };
}

function metaProblem(meta: unknown): string | null {
  if (meta === undefined) return null;
  if (!isFields(meta)) return 'params._meta must be an object';
  const { progressToken } = meta;
  if (progressToken !== undefined && !isProgressToken(progressToken))
    return `params._meta.progressToken must be a number or a text of at most ${bounds.nameLength} characters`;
  return keyProblem(meta, 'params._meta', metaKeys);
}

/**
 * Returns whether a value is a valid progress token. Its length is limited, because it is kept while the request is
 * open and is repeated with each progress message.
 */
const isProgressToken = (value: unknown): boolean =>
  typeof value === 'number' || (typeof value === 'string' && value.length <= bounds.nameLength);

const printable = /^[!-~]+$/;

// Maps each lower-case key to the key of the protocol.
const folded = (keys: readonly string[]): ReadonlyMap<string, string> => new Map(keys.map((key) => [key.toLowerCase(), key]));

const paramKeys = folded(
  (
    'name arguments _meta uri cursor protocolVersion capabilities clientInfo level ref argument context requestId reason ' +
    'progressToken progress total message task notifications inputResponses requestState'
  ).split(' '),
);
const metaKeys = folded([
  'progressToken',
  ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel', 'subscriptionId', 'related-task'].map(
    (name) => `io.modelcontextprotocol/${name}`,
  ),
]);

/**
 * Returns a problem if a key is not ASCII, or differs from a known key only in upper and lower case. All keys of the
 * protocol are ASCII, so a look-alike with other characters cannot be one of them.
 */
function keyProblem(fields: Fields, path: string, known: ReadonlyMap<string, string>): string | null {
  for (const key of Object.keys(fields)) {
    if (!printable.test(key)) return `${path} has a key that is not plain ASCII, ${place(key)}`;
    const meant = known.get(key.toLowerCase());
    if (meant !== undefined && meant !== key) return `${path} has the key ${place(key)}, which could be read as "${meant}"`;
  }
  return null;
}

/**
 * Returns a key as it is shown in an answer. Characters that are not plain ASCII are escaped, so look-alikes are
 * visible.
 */
const place = (key: string): string =>
  JSON.stringify(key.slice(0, 60)).replaceAll(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

const bad = (problem: string, id: RpcId | null = null, code: number = rpcErrors.request): { readonly bad: BadMessage } => ({
  bad: { code, problem, id },
});

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const isId = (value: unknown): value is RpcId =>
  (typeof value === 'string' && value.length <= idLengthMax) || (typeof value === 'number' && Number.isSafeInteger(value));

/** Returns the text to forward: the parsed message in canonical form. */
export function messageText(message: ClientMessage): string {
  if (message.kind === 'response') return canonicalJson(message.body);
  const { method, params, hasParams } = message;
  return canonicalJson({
    jsonrpc: '2.0',
    ...(message.kind === 'request' ? { id: message.id } : {}),
    method,
    ...(hasParams ? { params } : {}),
  });
}

// Parses a tool server's message: one JSON-RPC message that every reader reads in the same way. Its text is forwarded
// unchanged. Therefore numbers may exceed what a double can hold, but nothing else may be ambiguous.
import { tooManyValues } from '@tollgate/proto/contract';
import { parseStrictText } from '../../engine/json/strict-json.ts';
import { isFields, isId } from './message.ts';
import type { RpcId } from './rpc.ts';
import { MessageTooLarge } from './upstream-down.ts';

export type ServerMessage =
  | {
      readonly kind: 'response';
      /** The id of the request. Null: the response is an error about a request that the server could not read. */
      readonly id: RpcId | null;
      /** Which of the two members the response has. */
      readonly holds: 'result' | 'error';
      readonly value: unknown;
      readonly text: string;
    }
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown; readonly text: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown; readonly text: string };

/** The maximum number of JSON values in one message. Parsed, they need at most about 105 MB (docs/design/bounds.md). */
export const messageNodes = 500_000;

const limits = { depth: 256, nodes: messageNodes, exactNumbers: false };

/**
 * Returns the parsed message. Null: the text is not a message. Throws `MessageTooLarge` before parsing if there are too
 * many values.
 */
export function parseServerMessage(text: string): ServerMessage | null {
  const parsed = parseStrictText(text, limits);
  if ('problem' in parsed && parsed.problem === tooManyValues(limits.nodes)) throw new MessageTooLarge(`a message that ${parsed.problem}`);
  if ('problem' in parsed || !isFields(parsed.value)) return null;
  const { value } = parsed;
  if (value['jsonrpc'] !== '2.0' || Object.keys(value).some((key) => !keys.has(key))) return null;
  const { id, method } = value;
  if (id !== undefined && id !== null && !isId(id)) return null;
  if (method !== undefined) {
    if (typeof method !== 'string' || 'result' in value || 'error' in value || id === null) return null;
    const said = { method, params: value['params'], text };
    return id === undefined ? { kind: 'notification', ...said } : { kind: 'request', id, ...said };
  }
  if ('result' in value === 'error' in value || ('result' in value && (id === undefined || id === null))) return null;
  const holds = 'result' in value ? 'result' : 'error';
  return { kind: 'response', id: id ?? null, holds, value: value[holds], text };
}

/**
 * Returns the parsed message. Null: the bytes are not a message. Such output of a program is dropped. Throws
 * `MessageTooLarge`.
 */
export function readMessage(bytes: Uint8Array): ServerMessage | null {
  try {
    return parseServerMessage(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    if (error instanceof MessageTooLarge) throw error;
    return null;
  }
}

const keys = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

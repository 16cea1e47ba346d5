// What a tool server says: one JSON-RPC message of which nobody reads another than we do. Its text is handed on as it is,
// so numbers may be beyond what we can hold, and nothing else may.
import { tooManyValues } from '@tollgate/proto/contract';
import { parseStrictText } from '../../strict-json.ts';
import { isFields, isId } from './message.ts';
import type { RpcId } from './rpc.ts';
import { MessageTooLarge } from './upstream-down.ts';

export type ServerMessage =
  | {
      readonly kind: 'response';
      /** Null: an error about a request that the server could not read. */
      readonly id: RpcId | null;
      /** What it holds. */
      readonly holds: 'result' | 'error';
      readonly value: unknown;
      readonly text: string;
    }
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: unknown; readonly text: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown; readonly text: string };

/** Values in one message: parsed, they take at most some 105 MB (docs/design/bounds.md). */
export const messageNodes = 500_000;

const limits = { depth: 256, nodes: messageNodes, exactNumbers: false };

/** Null where it is none. Throws `MessageTooLarge` before anything is made of one with more values than it may have. */
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

const keys = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);

// Builds our own JSON-RPC answers.
import type { Era } from './methods.ts';

export type RpcId = string | number;

/** Codes of JSON-RPC, and of the range that MCP reserves. */
export const rpcErrors = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  headers: -32_020,
  capability: -32_021,
  version: -32_022,
} as const;

export const errorText = (id: RpcId | null, code: number, message: string, data?: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } });

/** Returns a tool result that gives the model the reason for a refusal. `meta`: what programs find in its `_meta`. */
export const refusedResultText = (id: RpcId, era: Era, text: string, meta?: object): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: {
      ...(era === 'modern' ? { resultType: 'complete' } : {}),
      content: [{ type: 'text', text }],
      isError: true,
      ...(meta === undefined ? {} : { _meta: meta }),
    },
  });

/** Thrown to send an answer of ours, with its HTTP status, instead of the server's answer. */
export class RpcRefusal extends Error {
  override readonly name = 'RpcRefusal';
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super('refused');
    this.status = status;
    this.text = text;
  }
}

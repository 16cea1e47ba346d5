// JSON-RPC answers of our own.
import type { Era } from './methods.ts';

export type RpcId = string | number;

/** By JSON-RPC, and by the protocol's own range. */
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

/** A tool's result that tells the model why there is none. */
export const refusedResultText = (id: RpcId, era: Era, text: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: { ...(era === 'modern' ? { resultType: 'complete' } : {}), content: [{ type: 'text', text }], isError: true },
  });

/** An answer of ours instead of the server's, with the status it is sent with. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super('refused');
    this.status = status;
    this.text = text;
  }
}

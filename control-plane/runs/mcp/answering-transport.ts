// Streamable HTTP on which every request is answered: one whose stream the server ends without an answer is answered by us.
import { StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions } from '@modelcontextprotocol/client';
import type { GuardedFetch, Trouble } from './guarded-fetch.ts';

/** In `data` of the error that a call is answered with whose server hung up before it had answered; nobody else has it. */
export const hungUp: unique symbol = Symbol('hung up');
const serverErrorCode = -32_000;

/** A server that never answers is waited for until the time is up; one that hangs up need not be. */
export class AnsweringTransport extends StreamableHTTPClientTransport {
  readonly #trouble: () => Trouble | null;

  constructor(to: URL, guarded: GuardedFetch, options: StreamableHTTPClientTransportOptions) {
    super(to, { ...options, fetch: guarded.fetch });
    this.#trouble = guarded.trouble;
  }

  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    if (Array.isArray(message) || !('method' in message && 'id' in message)) return super.send(message, options);
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      const words = this.#trouble()?.words ?? 'ended its answer before it was complete';
      // Nobody waits for it where the answer had come.
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: serverErrorCode, message: words, data: hungUp } });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

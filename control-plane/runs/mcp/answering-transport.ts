// A Streamable HTTP transport that answers every request. When the server ends a stream without an answer, the
// transport generates an error as the answer.
import { StreamableHTTPClientTransport, type StreamableHTTPClientTransportOptions } from '@modelcontextprotocol/client';
import type { GuardedFetch, Trouble } from '@tollgate/sidecar/upstream';

/**
 * The value of `data` in an error that the transport generates because the server closed the stream without an answer.
 * No other error has this value.
 */
export const hungUp: unique symbol = Symbol('hung up');
const serverErrorCode = -32_000;

/**
 * Answers a request with an error when the server closes the stream without an answer. Otherwise the client would wait
 * until the timeout, as it does for a server that never answers.
 */
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
      // If the server's answer has already arrived, the client ignores this error.
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: serverErrorCode, message: words, data: hungUp } });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

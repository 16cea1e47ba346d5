// Holds the request of a client while its call waits for a person. A client that has sent a progress token gets a stream
// at that moment, and is told again and again that the call waits. The hold ends with the request: when the client closes
// or cancels it, and when its session or its key ends.
import type { DisconnectSignal } from '../../../base/disconnect-signal.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import { withMember } from '../../../upstream/wire/json-text.ts';
import { errorText, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';
import { heldProgressMs, heldWords } from '../../denial-body.ts';
import type { DoorRequest } from '../door.ts';
import { openWriter, type StreamWriter } from '../http/writer.ts';
import { waitingKey } from '../session/sessions.ts';

/** How long a call is held if its client asks for no progress, in ms. It is shorter than the time after which clients give up. */
const silentHoldMs = 50_000;

type Asked = Pick<DoorRequest, 'reply' | 'signal' | 'session' | 'headers'>;

export class HeldRequest implements DisconnectSignal {
  /** The stream of the client. Null: its answer has not begun. */
  writer: StreamWriter | null = null;
  readonly #asked: Asked;
  readonly #message: ClientRequest;
  #cancelling: AbortController | null = null;
  #timer: NodeJS.Timeout | undefined;
  #approvalId = '';
  #told = 0;
  #isSending = false;

  constructor(asked: Asked, message: ClientRequest) {
    this.#asked = asked;
    this.#message = message;
  }

  /** How long the client waits for a person, in ms. */
  get holdMs(): number {
    return this.#token === undefined ? silentHoldMs : Number.POSITIVE_INFINITY;
  }

  get aborted(): boolean {
    return this.#asked.signal.aborted || this.#cancelling?.signal.aborted === true;
  }

  addEventListener(type: 'abort', listener: () => void, options?: { readonly once: true }): void {
    this.#cancelling ??= new AbortController();
    for (const signal of [this.#asked.signal, this.#cancelling.signal]) signal.addEventListener(type, listener, options);
  }

  removeEventListener(type: 'abort', listener: () => void): void {
    for (const signal of [this.#asked.signal, this.#cancelling?.signal]) signal?.removeEventListener(type, listener);
  }

  /** Ends the hold, because the client no longer waits. */
  cancel(): void {
    this.#cancelling ??= new AbortController();
    this.#cancelling.abort();
  }

  /** The call begins to wait. It may wait again, for another approval. */
  begin(approvalId: string): void {
    const { session, reply, signal } = this.#asked;
    this.#approvalId = approvalId;
    session?.holding.set(waitingKey(this.#message.id), this);
    if (this.#token === undefined) return;
    this.writer ??= openWriter(reply, 200, {}, signal);
    this.#tell();
    this.#timer ??= setInterval(() => this.#tell(), heldProgressMs).unref();
  }

  /** The call is decided, and does not wait any more. */
  release(): void {
    clearInterval(this.#timer);
    const key = waitingKey(this.#message.id);
    const holding = this.#asked.session?.holding;
    if (holding?.get(key) === this) holding.delete(key);
  }

  /** Answers with an error in the stream that has begun. Returns false if none has. */
  async answerError(error: unknown): Promise<boolean> {
    if (this.writer === null) return false;
    const { id } = this.#message;
    if (error instanceof RpcRefusal) await this.writer.send(withMember(error.text, ['id'], JSON.stringify(id)));
    else {
      const isDown = error instanceof UpstreamDown;
      if (!isDown) this.#asked.reply.log.error({ err: error }, 'an MCP request failed with an error of the sidecar');
      await this.writer.send(errorText(id, rpcErrors.internal, isDown ? error.message : 'internal error'));
    }
    return true;
  }

  /** Ends the stream, if it has begun. */
  end(): void {
    this.release();
    if (this.writer !== null && !this.#asked.reply.raw.writableEnded) this.writer.end();
  }

  /** The progress token. Undefined: the client has sent none, or it takes no stream. */
  get #token(): string | number | undefined {
    const meta = this.#message.params['_meta'];
    const token = isFields(meta) ? meta['progressToken'] : undefined;
    const takesStream = this.#asked.headers.accept?.includes('text/event-stream') === true;
    return takesStream && (typeof token === 'string' || typeof token === 'number') ? token : undefined;
  }

  #tell(): void {
    // A client that does not read gets no second message.
    if (this.#isSending || this.writer === null) return;
    this.#isSending = true;
    const params = {
      progressToken: this.#token,
      // Progress must grow, and the progress of the tool comes after it, which most servers count from 0 or 1.
      progress: this.#told / 1_000,
      message: heldWords(this.#approvalId),
    };
    this.#told += 1;
    void this.writer.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })).finally(() => {
      this.#isSending = false;
    });
  }
}

// Defines the interface between the loop and a model of any provider.

export interface ModelRequest {
  /** The name of the model in the agent's profile. It is always a recognised model. */
  readonly model: string;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  /** The maximum number of output tokens that the remaining budget allows. */
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /**
   * Called with true when an attempt begins. Called with false when the provider has refused an attempt and the pause
   * before the next one begins.
   */
  readonly underWay?: (is: boolean) => void;
}

export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | ({ readonly role: 'assistant' } & ModelReply)
  | { readonly role: 'tool'; readonly callId: string; readonly alias: string; readonly output: string; readonly isError: boolean };

export interface ModelReply {
  readonly text: string;
  readonly toolCalls: readonly RequestedCall[];
  /**
   * The reply in pieces. They include the model's thoughts and the provider's own marks. `pieces` is present if the
   * next request must return more to the provider than the text and the calls. Pieces are kept in memory, and sealed
   * while the run waits for a person. They are sent only to the provider that they came from.
   */
  readonly pieces?: readonly ReplyPiece[];
}

/** `mark` is extra data of the provider about the piece, in the provider's own form; absent: none. */
export type ReplyPiece =
  | { readonly kind: 'thought'; readonly text: string; readonly mark?: unknown }
  /** The next `length` UTF-16 code units of the reply's text. */
  | { readonly kind: 'text'; readonly length: number; readonly mark?: unknown }
  /** The next call of the reply. */
  | { readonly kind: 'call'; readonly mark?: unknown };

/** A call as the model requested it. */
export interface RequestedCall {
  /** The provider's id of the call. It is unique in the reply. */
  readonly callId: string;
  readonly alias: string;
  /** The JSON text that the model wrote; it may be invalid. In a `ModelRequest` it is always the JSON of an object. */
  readonly arguments: string;
}

export interface OfferedTool {
  /** A name that providers accept: 1 to 64 characters of `A-Za-z0-9_-`. */
  readonly alias: string;
  readonly description: string;
  /** The JSON Schema of the input, which is always an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  /**
   * Always the last event. `usage` is null when the provider does not report it. In that case the call costs the amount
   * that was reserved for it.
   */
  | ({ readonly kind: 'reply'; readonly usage: TokenUsage | null; readonly finish: Finish } & ModelReply);

/**
 * `length`: the reply was cut off because it reached its maximum length. `refused`: the model, or a filter of its
 * provider, refused to continue. `paused`: the provider expects another request, which continues the reply.
 */
export type Finish = 'stop' | 'tool_calls' | 'length' | 'refused' | 'paused';

export interface TokenUsage {
  /** Includes the tokens read from a cache and written to a cache. */
  readonly inputTokens: number;
  /** The input tokens that were read from a cache. */
  readonly cachedInputTokens: number;
  /** The input tokens that were written to a cache. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

export interface Models {
  /**
   * Returns null when a provider is configured for the model; otherwise the reason why the model cannot be used, in
   * words for the caller.
   */
  problem(model: string): string | null;
  /**
   * Returns the maximum length of a reply of a recognised model, in tokens. If it is not known, returns a length that
   * every model supports.
   */
  outputLimit(model: string): number;
  /**
   * Streams one reply. Throws `ProviderFailed` if the provider still fails after the retries. Rejects with the signal's
   * reason when the signal is aborted.
   */
  reply(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** A failure of a provider, in words that contain no key and nothing of the request. */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed';
  readonly status: number | null;
  /** True: the provider accepted the request and may bill the reserved amount. False: the request costs nothing. */
  readonly billed: boolean;

  constructor(message: string, status: number | null, billed = false) {
    super(message);
    this.status = status;
    this.billed = billed;
  }
}

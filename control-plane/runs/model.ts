// What a model is to the loop, whoever provides it.

export interface ModelRequest {
  /** As the agent names it; recognised. */
  readonly model: string;
  readonly system: string;
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly OfferedTool[];
  /** What remains of the budget allows no more. */
  readonly maxOutputTokens: number;
  readonly signal: AbortSignal;
  /** Hears of a provider that is left alone for a while after it refused, and of the next attempt. */
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
   * The reply in its pieces, where the provider wants to be shown more of it than text and calls: what the model thought, and marks of
   * the provider's own. In memory only, and for nobody but the provider it came from.
   */
  readonly pieces?: readonly ReplyPiece[];
}

/** `mark` is what the provider said beside it, of a form that only it knows; absent: nothing. */
export type ReplyPiece =
  | { readonly kind: 'thought'; readonly text: string; readonly mark?: unknown }
  /** The next so many UTF-16 units of the reply's text. */
  | { readonly kind: 'text'; readonly length: number; readonly mark?: unknown }
  /** The next of its calls. */
  | { readonly kind: 'call'; readonly mark?: unknown };

/** A call as the model asked for it. */
export interface RequestedCall {
  /** The provider's id of it, unique in the reply. */
  readonly callId: string;
  readonly alias: string;
  /** JSON text, as the model wrote it; it may be none. In a request it is that of an object. */
  readonly arguments: string;
}

export interface OfferedTool {
  /** What providers accept as a name: 1 to 64 of `A-Za-z0-9_-`. */
  readonly alias: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export type ModelEvent =
  | { readonly kind: 'text'; readonly delta: string }
  /** The last one, always. `usage` is null where the provider does not say: then the call cost what was put aside for it. */
  | ({ readonly kind: 'reply'; readonly usage: TokenUsage | null; readonly finish: Finish } & ModelReply);

/**
 * `length`: it was cut off, because it was as long as it may be. `refused`: the model, or a filter of its provider, would not say more.
 * `paused`: the provider wants to be asked to go on.
 */
export type Finish = 'stop' | 'tool_calls' | 'length' | 'refused' | 'paused';

export interface TokenUsage {
  /** With those read from a cache and written to it. */
  readonly inputTokens: number;
  /** Of the input, read from a cache. */
  readonly cachedInputTokens: number;
  /** Of the input, written to a cache. */
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

export interface Models {
  /** Whether a provider is configured for a recognised model; else why not, in words for the caller. */
  problem(model: string): string | null;
  /** The longest reply that a recognised model can give, in tokens, as far as that is known; else one that any model can. */
  outputLimit(model: string): number;
  /** Streams one reply. Throws `ProviderFailed` after retries; rejects with the signal's reason when it is aborted. */
  reply(request: ModelRequest): AsyncIterable<ModelEvent>;
}

/** A provider that failed, in words that hold no key and nothing it was sent. */
export class ProviderFailed extends Error {
  override readonly name = 'ProviderFailed';
  readonly status: number | null;
  /** It took the request, and may bill what was put aside for it; otherwise it costs nothing. */
  readonly billed: boolean;

  constructor(message: string, status: number | null, billed = false) {
    super(message);
    this.status = status;
    this.billed = billed;
  }
}

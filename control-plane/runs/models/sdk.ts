// Adapts a provider of the AI SDK to the loop. For each request, the loop receives one streamed reply. The request is
// retried until the provider begins to answer. From then on the provider may bill the request. Therefore it is not
// retried any more, and every error is a failure.
import type { LanguageModelV3, LanguageModelV3StreamPart, SharedV3ProviderOptions } from '@ai-sdk/provider';
import type { ModelEvent, ModelRequest } from '../model.ts';
import { brokenOff, failureOf } from './failure.ts';
import type { Provider } from './models.ts';
import { createReplyDraft } from './reply.ts';
import { retry, type RetryTimer } from './retry.ts';
import { callOptions } from './sdk-request.ts';

export interface SdkProvider {
  readonly provider: string;
  readonly model: (name: string) => LanguageModelV3;
  /** Returns the maximum length of a reply of the model with this name, in tokens. */
  readonly limit: (name: string) => number;
  readonly options?: SharedV3ProviderOptions;
  /** Set to false for a provider that would otherwise apply tool schemas strictly. */
  readonly strictTools?: false;
}

type Parts = ReadableStream<LanguageModelV3StreamPart>;

export const providerOf = (sdk: SdkProvider, waiting: RetryTimer): Provider => ({
  outputLimit: sdk.limit,
  async *reply(name, request) {
    const parts = await open(sdk, name, request, waiting);
    yield* eventsFrom(parts, sdk.provider, request.signal);
  },
});

/** Opens the stream of a reply. Rejects with the signal's reason, or with `ProviderFailed`. */
async function open(
  { provider, model, limit, options, strictTools }: SdkProvider,
  name: string,
  request: ModelRequest,
  waiting: RetryTimer,
) {
  const called = callOptions(request, { limit: limit(name), ...(options && { options }), ...(strictTools === false && { strictTools }) });
  return retry(
    async () => (await model(name).doStream(called)).stream,
    (error) => failureOf(provider, error, waiting.now()),
    { signal: request.signal, underWay: request.underWay ?? (() => undefined) },
    waiting,
  );
}

async function* eventsFrom(parts: Parts, provider: string, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  const draft = createReplyDraft(provider);
  const reader = parts.getReader();
  try {
    for (;;) {
      const part = await next(reader, provider, signal);
      if (part === null) break;
      const delta = draft.add(part);
      if (delta !== '') yield { kind: 'text', delta };
    }
  } finally {
    // When the consumer stops reading, the provider must stop too.
    await reader.cancel().catch(() => {});
  }
  yield draft.whole();
}

async function next(
  reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart>,
  provider: string,
  signal: AbortSignal,
): Promise<LanguageModelV3StreamPart | null> {
  try {
    const { done, value } = await reader.read();
    return done ? null : value;
  } catch {
    signal.throwIfAborted();
    throw brokenOff(provider);
  }
}

// Creates the configured model providers with the AI SDK. Their keys exist only here and in the headers of requests to
// the providers. Redirects are not followed, because the key would be sent to the new address. It is loaded by
// `providers.ts`, only if a provider is configured.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent, fetch } from 'undici';
import { outputLimitOf } from './output-limit.ts';
import type { SdkProvider } from './sdk.ts';
import type { KeyedAddress, KeyedEndpoint, ProviderSettings } from './settings.ts';

interface SdkProviders {
  readonly all: readonly SdkProvider[];
  close(): Promise<void>;
}

export function createSdkProviders({ openai, anthropic, endpoints }: ProviderSettings): SdkProviders {
  // The HTTP client has no timeouts. Only the run's own signal limits how long a model may think.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const send = sendBy(agent);
  const all = [
    ...(openai === null ? [] : [openaiOf(openai, send)]),
    ...(anthropic === null ? [] : [anthropicOf(anthropic, send)]),
    ...endpoints.map((endpoint) => compatible(endpoint, send)),
  ];
  return { all, close: () => agent.destroy() };
}

type Send = typeof globalThis.fetch;

/** The type of `fetch` from Node and the one from `undici` describe the same values, so the cast is safe. */
const sendBy = (dispatcher: Agent): Send =>
  (async (url: string, init: object = {}) => fetch(url, { ...init, redirect: 'manual', dispatcher })) as unknown as Send;

function openaiOf({ key, baseUrl, api }: NonNullable<ProviderSettings['openai']>, send: Send): SdkProvider {
  const sdk = createOpenAI({ apiKey: key, baseURL: baseUrl, fetch: send });
  return {
    provider: 'openai',
    model: (name) => sdk[api](name),
    limit: outputLimitOf,
    // OpenAI must not store the request or the reply.
    options: { openai: { store: false } },
    strictTools: false,
  };
}

function anthropicOf({ key, baseUrl }: KeyedAddress, send: Send): SdkProvider {
  const sdk = createAnthropic({ apiKey: key, baseURL: baseUrl, fetch: send });
  return { provider: 'anthropic', model: (name) => sdk.messages(name), limit: outputLimitOf };
}

function compatible({ provider, baseUrl, key, maxOutputTokens }: KeyedEndpoint, send: Send): SdkProvider {
  const keyed = key === null ? {} : { apiKey: key };
  const sdk = createOpenAICompatible({ name: provider, baseURL: baseUrl, fetch: send, includeUsage: true, ...keyed });
  return { provider, model: (name) => sdk.chatModel(name), limit: (name) => maxOutputTokens ?? outputLimitOf(name) };
}

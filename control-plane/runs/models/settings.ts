// Reads which providers the operator has configured. Keys come from environment variables. The configuration of an
// endpoint contains the name of the variable with the key of this endpoint.
import { type ModelEndpoint, parseModelEndpoints } from '../../agents/rules/model-endpoints.ts';

export interface ProviderSettings {
  readonly openai: (KeyedAddress & { readonly api: 'responses' | 'chat' }) | null;
  readonly anthropic: KeyedAddress | null;
  readonly endpoints: readonly KeyedEndpoint[];
}

export interface KeyedAddress {
  readonly key: string;
  readonly baseUrl: string;
}

export type KeyedEndpoint = ModelEndpoint & { readonly key: string | null };

interface ModelSettings {
  readonly openaiApiKey: string | null;
  readonly openaiBaseUrl: string | null;
  readonly anthropicApiKey: string | null;
  readonly anthropicBaseUrl: string | null;
  readonly modelEndpoints: string | null;
}

// The addresses are set here, because otherwise the SDK would read them from the environment.
const openaiUrl = 'https://api.openai.com/v1';
const anthropicUrl = 'https://api.anthropic.com/v1';

export function settingsFrom(config: ModelSettings, env: Readonly<Record<string, string | undefined>>): ProviderSettings {
  const { openaiApiKey, openaiBaseUrl, anthropicApiKey, anthropicBaseUrl } = config;
  return {
    openai:
      openaiApiKey === null
        ? null
        : // OpenAI serves some models only through Responses. Other servers with its API offer Chat Completions.
          { key: openaiApiKey, baseUrl: openaiBaseUrl ?? openaiUrl, api: openaiBaseUrl === null ? 'responses' : 'chat' },
    anthropic: anthropicApiKey === null ? null : { key: anthropicApiKey, baseUrl: anthropicBaseUrl ?? anthropicUrl },
    endpoints: parseModelEndpoints(config.modelEndpoints).map((endpoint) => ({
      ...endpoint,
      key: endpoint.keyVariable === null ? null : (env[endpoint.keyVariable] ?? null),
    })),
  };
}

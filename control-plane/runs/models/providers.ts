// Creates the model providers: the demonstration, and those that are configured. If none is configured, the AI SDK is
// not loaded.
import { echo } from './echo.ts';
import type { Provider } from './models.ts';
import type { RetryTimer } from './retry.ts';
import { providerOf } from './sdk.ts';
import type { ProviderSettings } from './settings.ts';

export interface Providers {
  readonly byName: ReadonlyMap<string, Provider>;
  close(): Promise<void>;
}

export async function createProviders(settings: ProviderSettings, waiting: RetryTimer): Promise<Providers> {
  const byName = new Map<string, Provider>([['demo', demo]]);
  const { openai, anthropic, endpoints } = settings;
  if (openai === null && anthropic === null && endpoints.length === 0) return { byName, close: () => Promise.resolve() };
  const { createSdkProviders } = await import('./sdk-providers.ts');
  const sdks = createSdkProviders(settings);
  for (const sdk of sdks.all) byName.set(sdk.provider, providerOf(sdk, waiting));
  return { byName, close: () => sdks.close() };
}

const demo: Provider = { outputLimit: () => demoOutputTokens, reply: (_name, request) => echo(request) };
const demoOutputTokens = 8_192;

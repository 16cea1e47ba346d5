// Reads how many tokens a provider reports as billed.
import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import type { TokenUsage } from '../model.ts';

/** Null when the provider does not report the usage, or reports impossible numbers. */
export function usageFrom({ inputTokens: input, outputTokens: output, raw }: LanguageModelV3Usage): TokenUsage | null {
  const usage = {
    inputTokens: input.total ?? Number.NaN,
    cachedInputTokens: input.cacheRead ?? 0,
    cacheWriteTokens: input.cacheWrite ?? 0,
    // Some endpoints omit thinking tokens from the output but bill them. Their total includes them.
    outputTokens: Math.max(output.total ?? Number.NaN, totalFrom(raw) - (input.total ?? 0)),
  };
  return Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0) ? usage : null;
}

const totalFrom = (raw: LanguageModelV3Usage['raw']): number => {
  const total = raw?.['total_tokens'];
  return typeof total === 'number' ? total : 0;
};

// How many tokens a provider says that it billed.
import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import type { TokenUsage } from '../model.ts';

/** Null where it does not say, or says what cannot be. */
export function usageFrom({ inputTokens: input, outputTokens: output, raw }: LanguageModelV3Usage): TokenUsage | null {
  const usage = {
    inputTokens: input.total ?? Number.NaN,
    cachedInputTokens: input.cacheRead ?? 0,
    cacheWriteTokens: input.cacheWrite ?? 0,
    // Some endpoints leave the tokens of thinking out of the output, and bill them: their total has them.
    outputTokens: Math.max(output.total ?? Number.NaN, totalFrom(raw) - (input.total ?? 0)),
  };
  return Object.values(usage).every((count) => Number.isSafeInteger(count) && count >= 0) ? usage : null;
}

const totalFrom = (raw: LanguageModelV3Usage['raw']): number => {
  const total = raw?.['total_tokens'];
  return typeof total === 'number' ? total : 0;
};

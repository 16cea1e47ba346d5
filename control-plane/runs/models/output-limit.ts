// Returns the maximum length of a reply for each model, as far as it is known. It is needed for two reasons: some
// providers reject a request for a longer reply, and the money that is reserved for a call must be enough for a reply
// of this length. The SDK knows the length for Claude. The table in this file contains other models.
import { getModelCapabilities } from '@ai-sdk/anthropic/internal';

/** A length that every model supports, including a self-hosted model server with a small context. */
const usual = 8_192;

const limits: readonly (readonly [RegExp, number])[] = [
  [/^gpt-3\.5/, 4_096],
  [/^gpt-4(?:-|$)/, 4_096],
  [/^gpt-4o-2024-05-13$/, 4_096],
  [/^(?:chatgpt-4o|gpt-4o|gpt-4\.5|gpt-chat)/, 16_384],
  [/^gpt-5[\w.]*-chat/, 16_384],
  [/^(?:gpt-4\.1|o1-preview)/, 32_768],
  [/^o1-mini/, 65_536],
  [/^(?:o[134]|codex)(?:-|$)/, 100_000],
  [/^gpt-[56](?:[.-]|$)/, 128_000],
];

/** Returns the maximum length in tokens. */
export function outputLimitOf(name: string): number {
  if (name.startsWith('claude-')) return getModelCapabilities(name).maxOutputTokens;
  return limits.find(([form]) => form.test(name))?.[1] ?? usual;
}

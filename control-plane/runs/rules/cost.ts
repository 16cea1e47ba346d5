// Computes the possible and the real cost of a model call. Reservations use the highest rates
// (`agents/rules/rates.ts`), and count each byte as a token, because no token is shorter than one byte. Settlement uses
// the real rates and tokens. The results are exact: sums are computed in integers and rounded up once, to a whole µ¢.
import type { Rate, Rates } from '../../agents/rules/rates.ts';

/**
 * The maximum number of tokens that providers add to a request and bill: message frames, and up to 530 tokens of
 * instructions if there are tools.
 */
const unseenTokens = 1_000;

/** The minimum number of output tokens for which a call is made. A shorter reply is not worth a call. */
export const outputTokensLeast = 256;

export interface PricedRequest {
  /** UTF-8 bytes of everything that is sent: system prompt, messages, and tools with their schemas. */
  readonly inputBytes: number;
  /** The highest rates of the model, as `dearestRatesOf` returns them. */
  readonly rates: Rates;
}

/**
 * Tokens as the provider counted them. `inputTokens` includes the tokens that were read from a cache or written to a
 * cache.
 */
export interface BilledTokens {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

/** Returns the maximum cost, in µ¢, of a call with this request and at most `maxOutputTokens` output tokens. */
export function mostItCanCost({ inputBytes, rates }: PricedRequest, maxOutputTokens: number): number {
  return roundedUp(BigInt(inputBytes + unseenTokens) * dearestInput(rates) + BigInt(maxOutputTokens) * scaled(dearest(rates.output)));
}

/**
 * Returns how many output tokens `amount` µ¢ can pay for after they have paid for the input, but never more than
 * `wanted`. Returns 0 if the amount is not enough for the input.
 */
export function outputTokensFor(amount: number, { inputBytes, rates }: PricedRequest, wanted: number): number {
  const left = BigInt(amount) * scale - BigInt(inputBytes + unseenTokens) * dearestInput(rates);
  if (left < 0n) return 0;
  const each = scaled(dearest(rates.output));
  return each === 0n ? wanted : Math.min(wanted, Number(left / each));
}

/** Returns the real cost in µ¢. The length of the input decides which tier of the rates applies. */
export function costOf(tokens: BilledTokens, rates: Rates): number {
  const { inputTokens, outputTokens } = tokens;
  // If a provider reports more cached tokens than input tokens, the excess is ignored.
  const cached = Math.min(tokens.cachedInputTokens, inputTokens);
  const written = Math.min(tokens.cacheWriteTokens, inputTokens - cached);
  const at = (rate: Rate): bigint => scaled(reached(rate, inputTokens));
  return roundedUp(
    BigInt(inputTokens - cached - written) * at(rates.input) +
      BigInt(cached) * at(rates.cachedInput) +
      BigInt(written) * at(rates.cacheWrite) +
      BigInt(outputTokens) * at(rates.output),
  );
}

/** Rates have at most six decimals. Multiplied by this factor, they are integers. */
const scale = 1_000_000n;
const scaled = (rate: number): bigint => BigInt(Math.round(rate * 1e6));
const roundedUp = (sum: bigint): number => Number((sum + scale - 1n) / scale);

const dearest = ({ base, tiers }: Rate): number => Math.max(base, ...tiers.map(({ rate }) => rate));

const dearestInput = ({ input, cachedInput, cacheWrite }: Rates): bigint =>
  scaled(Math.max(dearest(input), dearest(cachedInput), dearest(cacheWrite)));

/**
 * Returns the rate for an input of this length. Tiers are in ascending order. The last tier that starts below the
 * input's length applies to the whole input.
 */
const reached = ({ base, tiers }: Rate, inputTokens: number): number => tiers.findLast(({ above }) => inputTokens > above)?.rate ?? base;

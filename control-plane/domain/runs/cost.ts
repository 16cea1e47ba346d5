// What a model call may cost and did cost. Reserving is by the dearest rates (domain/agents/rates.ts) and by bytes, since no token is
// shorter than one; settling by the real rates and tokens. Exact: sums are made in integers, and rounded up once, to a µ¢.
import type { Rate, Rates } from '../agents/rates.ts';

/** What providers add to a request and bill: frames of messages, and up to 530 tokens of instructions where there are tools. */
const unseenTokens = 1_000;

/** A reply shorter than this is worth no call, unless the agent needs no more. */
export const outputTokensLeast = 256;

export interface PricedRequest {
  /** UTF-8 bytes of everything that is sent: system prompt, messages, tools with their schemas. */
  readonly inputBytes: number;
  /** `dearestRatesOf` of the model. */
  readonly rates: Rates;
}

/** As the provider counted them; cached and written ones are among the input. */
export interface BilledTokens {
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

/** In µ¢: for so many tokens of output no call with this request costs more. */
export function mostItCanCost({ inputBytes, rates }: PricedRequest, maxOutputTokens: number): number {
  return roundedUp(BigInt(inputBytes + unseenTokens) * dearestInput(rates) + BigInt(maxOutputTokens) * scaled(dearest(rates.output)));
}

/** How much output `amount` µ¢ pay for besides the input, `wanted` tokens at most; 0 where they do not even pay for the input. */
export function outputTokensFor(amount: number, { inputBytes, rates }: PricedRequest, wanted: number): number {
  const left = BigInt(amount) * scale - BigInt(inputBytes + unseenTokens) * dearestInput(rates);
  if (left < 0n) return 0;
  const each = scaled(dearest(rates.output));
  return each === 0n ? wanted : Math.min(wanted, Number(left / each));
}

/** In µ¢, by the tier that the length of the input has reached. */
export function costOf(tokens: BilledTokens, rates: Rates): number {
  const { inputTokens, outputTokens } = tokens;
  // A provider that counts more from its cache than there was is believed in neither.
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

/** Rates have six decimals. */
const scale = 1_000_000n;
const scaled = (rate: number): bigint => BigInt(Math.round(rate * 1e6));
const roundedUp = (sum: bigint): number => Number((sum + scale - 1n) / scale);

const dearest = ({ base, tiers }: Rate): number => Math.max(base, ...tiers.map(({ rate }) => rate));

const dearestInput = ({ input, cachedInput, cacheWrite }: Rates): bigint =>
  scaled(Math.max(dearest(input), dearest(cachedInput), dearest(cacheWrite)));

/** Tiers ascend; the last one that begins below the input's length holds for all of it. */
const reached = ({ base, tiers }: Rate, inputTokens: number): number => tiers.findLast(({ above }) => inputTokens > above)?.rate ?? base;

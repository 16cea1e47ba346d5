// The prices of a model's tokens, with all tiers and hours. They are used to reserve the possible cost of a call and to
// settle its real cost. The catalogue's `Price` is a shorter form for people.
import type { ModelPrice } from '@pydantic/genai-prices';
import { type Price, priceOf, pricesLastMs, quoteOf } from './models.ts';

/** In µ¢ for each token. */
export interface Rate {
  readonly base: number;
  /** Ascending. If the input of a request has more tokens than `above`, the tier applies to the whole request. */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[];
}

export interface Rates {
  readonly input: Rate;
  readonly cachedInput: Rate;
  readonly cacheWrite: Rate;
  readonly output: Rate;
}

/** Returns the prices of a model's tokens at `at`; null if the name is not recognised. */
export function ratesOf(name: string, at: Date): Rates | null {
  const quoted = quoteOf(name, at);
  if (quoted !== null) return ratesFromData(quoted.prices);
  const price = priceOf(name, at);
  return price === null ? null : ratesFromPrice(price);
}

/**
 * The time from now to the end of the longest possible run, in steps of half an hour, in ms. A call that begins now is
 * billed within this time.
 */
const ahead = Array.from({ length: 49 }, (_, turn) => turn * pricesLastMs);

/** Returns the highest prices between `at` and the end of the longest possible run. */
export function dearestRatesOf(name: string, at: Date): Rates | null {
  if (quoteOf(name, at)?.hourly !== true) return ratesOf(name, at);
  return ahead
    .flatMap((ms) => ratesOf(name, new Date(at.getTime() + ms)) ?? [])
    .reduce<Rates | null>((most, rates) => (most === null ? rates : dearerOf(most, rates)), null);
}

/** Returns the rates of a model that is not in the price data. */
export function ratesFromPrice(price: Price): Rates {
  const { inputCentsPerMillionTokens: input, outputCentsPerMillionTokens: output } = price;
  return {
    input: flat(input),
    cachedInput: flat(price.cachedInputCentsPerMillionTokens ?? input),
    cacheWrite: flat(price.cacheWriteCentsPerMillionTokens ?? input),
    output: flat(output),
  };
}

/** Returns the rates of a recognised model. Its data always has prices for input and output. */
function ratesFromData(prices: ModelPrice): Rates {
  const input = rateFrom(prices['input_mtok']) ?? flat(0);
  return {
    input,
    cachedInput: rateFrom(prices['cache_read_mtok']) ?? input,
    cacheWrite: rateFrom(prices['cache_write_mtok']) ?? input,
    output: rateFrom(prices['output_mtok']) ?? flat(0),
  };
}

const flat = (base: number): Rate => ({ base, tiers: [] });

/**
 * Converts dollars per million tokens to µ¢ per token (a factor of 100). Rounded to remove the error of binary
 * fractions.
 */
const rateOf = (dollars: number): number => Math.round(dollars * 1e8) / 1e6;

function rateFrom(price: ModelPrice[string]): Rate | null {
  if (price === undefined) return null;
  if (typeof price === 'number') return flat(rateOf(price));
  const tiers = price.tiers.map(({ start, price: each }) => ({ above: start, rate: rateOf(each) }));
  return { base: rateOf(price.base), tiers: tiers.toSorted((a, b) => a.above - b.above) };
}

const most = ({ base, tiers }: Rate): number => Math.max(base, ...tiers.map(({ rate }) => rate));

const dearer = (a: Rate, b: Rate): Rate => flat(Math.max(most(a), most(b)));

const dearerOf = (a: Rates, b: Rates): Rates => ({
  input: dearer(a.input, b.input),
  cachedInput: dearer(a.cachedInput, b.cachedInput),
  cacheWrite: dearer(a.cacheWrite, b.cacheWrite),
  output: dearer(a.output, b.output),
});

// What a model's tokens cost, with all tiers and hours: for reserving what a call may cost, and for settling what it did. The
// catalogue's `Price` says less, for people.
import type { ModelPrice } from '@pydantic/genai-prices';
import { type Price, priceOf, pricesLastMs, quoteOf } from './models.ts';

/** µ¢ a token. */
export interface Rate {
  readonly base: number;
  /** Ascending; each for the whole of a request whose input has more tokens. */
  readonly tiers: readonly { readonly above: number; readonly rate: number }[];
}

export interface Rates {
  readonly input: Rate;
  readonly cachedInput: Rate;
  readonly cacheWrite: Rate;
  readonly output: Rate;
}

/** What a recognised model's tokens cost at `at`; null for a name that is not recognised. */
export function ratesOf(name: string, at: Date): Rates | null {
  const quoted = quoteOf(name, at);
  if (quoted !== null) return ratesFromData(quoted.prices);
  const price = priceOf(name, at);
  return price === null ? null : ratesFromPrice(price);
}

/** No run is longer: a call that begins now is billed within it. */
const ahead = Array.from({ length: 49 }, (_, turn) => turn * pricesLastMs);

/** The most they cost from `at` on, while a run lasts. */
export function dearestRatesOf(name: string, at: Date): Rates | null {
  if (quoteOf(name, at)?.hourly !== true) return ratesOf(name, at);
  return ahead
    .flatMap((ms) => ratesOf(name, new Date(at.getTime() + ms)) ?? [])
    .reduce<Rates | null>((most, rates) => (most === null ? rates : dearerOf(most, rates)), null);
}

/** Of a model that is not in the price data. */
export function ratesFromPrice(price: Price): Rates {
  const { inputCentsPerMillionTokens: input, outputCentsPerMillionTokens: output } = price;
  return {
    input: flat(input),
    cachedInput: flat(price.cachedInputCentsPerMillionTokens ?? input),
    cacheWrite: flat(price.cacheWriteCentsPerMillionTokens ?? input),
    output: flat(output),
  };
}

/** Recognised models have prices of input and output. */
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

/** Dollars a million tokens are hundreds of µ¢ a token. Rounded to take off what binary fractions add. */
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

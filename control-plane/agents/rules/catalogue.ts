// The catalogue of all models on which agents can run here: those of the price data and the demo, and those that the
// operator's own endpoints serve. A model of an endpoint is known only by its full name, `provider/name`. Its price
// there takes precedence over the price data.
import { listModels, type PricedModel, type ServedModel, servedBy } from './models.ts';
import type { ConfiguredModel, ModelEndpoint } from './model-endpoints.ts';
import { dearestRatesOf, type Rates, ratesFromPrice, ratesOf } from './rates.ts';

export interface ModelCatalogue {
  recognises(name: string): boolean;
  /** Null for a name that is not recognised. */
  find(name: string): ServedModel | null;
  /** Sorted by id, with prices at `at`. */
  list(at: Date): readonly PricedModel[];
  /** The price of a recognised model's tokens at `at`; null for a name that is not recognised. */
  ratesOf(name: string, at: Date): Rates | null;
  /** The highest price from `at` on, within the maximum duration of a run. */
  dearestRatesOf(name: string, at: Date): Rates | null;
}

type ConfiguredEntry = ConfiguredModel & Pick<PricedModel, 'id' | 'provider' | 'aliases'>;

export function createCatalogue(endpoints: readonly ModelEndpoint[]): ModelCatalogue {
  const own = new Map(endpoints.flatMap(modelsOf).map((model) => [model.id, model] as const));

  const find = (name: string): ServedModel | null => own.get(name) ?? servedBy(name);

  const rates = (name: string, at: Date, fromData: typeof ratesOf): Rates | null => {
    const price = own.get(name);
    return price === undefined ? fromData(name, at) : ratesFromPrice(price);
  };

  return {
    recognises: (name) => find(name) !== null,
    find,
    list: (at) => {
      const known = listModels(at);
      return own.size === 0 ? known : [...known.filter(({ id }) => !own.has(id)), ...own.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    ratesOf: (name, at) => rates(name, at, ratesOf),
    dearestRatesOf: (name, at) => rates(name, at, dearestRatesOf),
  };
}

const modelsOf = ({ provider, models }: ModelEndpoint): readonly ConfiguredEntry[] =>
  models.map((model) => ({ ...model, id: `${provider}/${model.name}`, provider, aliases: [] }));

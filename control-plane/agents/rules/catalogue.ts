// Builds the catalogue of all models on which agents can run here: those of the price data and the demo, and those that
// the operator's own endpoints serve. A model of an endpoint is known only by its full name, `provider/name`. A price
// that is configured for an endpoint takes precedence over the price data.
import { listModels, type PricedModel, type ServedModel, servedBy } from './models.ts';
import type { ConfiguredModel, ModelEndpoint } from './model-endpoints.ts';
import { dearestRatesOf, type Rates, ratesFromPrice, ratesOf } from './rates.ts';

export interface ModelCatalogue {
  recognises(name: string): boolean;
  /** Returns the model with this name; null if the name is not recognised. */
  find(name: string): ServedModel | null;
  /** Returns all models, sorted by id, with prices at `at`. */
  list(at: Date): readonly PricedModel[];
  /** Returns the prices of a model's tokens at `at`; null if the name is not recognised. */
  ratesOf(name: string, at: Date): Rates | null;
  /** Returns the highest prices between `at` and the end of the longest possible run. */
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

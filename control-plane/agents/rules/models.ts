// Provides the models on which agents can run, with their prices. A model is recognised by `provider/name`, by its name
// alone if only one provider has it, and by either form with a release date appended. Prices are those of the package
// version that `package.json` pins. Nothing is fetched.
import { calcPrice, findProvider, type ModelInfo, type ModelPrice } from '@pydantic/genai-prices';

export interface Price {
  readonly inputCentsPerMillionTokens: number;
  readonly outputCentsPerMillionTokens: number;
  /** The price of input that is read from a cache. Absent: the normal input price. */
  readonly cachedInputCentsPerMillionTokens?: number;
  /** The price of input that is written to a cache. Absent: the normal input price. */
  readonly cacheWriteCentsPerMillionTokens?: number;
  /**
   * True: a long input costs more, or prices differ by hour. The prices here are then those of the lowest tier at this
   * time.
   */
  readonly tiered?: true;
}

interface Model {
  /** `provider/name`. */
  readonly id: string;
  readonly provider: string;
  /** The name that the provider and the price data use. */
  readonly name: string;
  /** Other names of the model. Each is also recognised with the provider as a prefix. */
  readonly aliases: readonly string[];
  /** The size of the context window, in tokens. */
  readonly contextWindow?: number;
  readonly deprecated?: true;
}

export type PricedModel = Model & Price;

export type ServedModel = Pick<Model, 'id' | 'provider' | 'name'>;

interface Source {
  readonly provider: string;
  /** The provider's id in the price data. */
  readonly dataId: string;
  /** Matches the names of models that this provider resells for other providers. These models are left out. */
  readonly resells?: RegExp;
}

// The providers that make models. A provider that only hosts models of others is not listed here: it is configured as
// an OpenAI-compatible endpoint.
const sources: readonly Source[] = [
  { provider: 'anthropic', dataId: 'anthropic' },
  { provider: 'openai', dataId: 'openai' },
  { provider: 'google', dataId: 'google', resells: /^claude/ },
  { provider: 'mistral', dataId: 'mistral' },
  { provider: 'deepseek', dataId: 'deepseek' },
  { provider: 'xai', dataId: 'x-ai' },
  { provider: 'cohere', dataId: 'cohere' },
  { provider: 'moonshotai', dataId: 'moonshotai' },
];

/** A deterministic model that needs no network and is free. It is known by its full name only. */
export const demoModel = 'demo/echo';

/** Matches models without conversation: they process audio or images, or embed, judge or complete text. */
const noConversation =
  /audio|davinci|embed|image|live|moderation|ocr|realtime|safeguard|transcribe|tts|turbo-instruct|voice|voxtral|whisper|^(?:ada|babbage|curie)$/;
const plainName = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/;
const released = /^(?:[a-z]+\/)?[a-z0-9.-]+-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;
/** Any date. It does not affect which model a name means, only the price. */
const someDay = new Date('2100-01-01T00:00:00Z');

const quote = (dataId: string, name: string, at: Date) => calcPrice({}, name, { providerId: dataId, timestamp: at });

/** Returns the names that a model's data lists explicitly. */
function spelledNames({ id, match }: ModelInfo): readonly string[] {
  const alternatives = 'or' in match ? match.or : [match];
  const equal = alternatives.flatMap((one) => ('equals' in one ? [one.equals] : []));
  return [...new Set([id, ...equal])].filter((name) => plainName.test(name));
}

function modelsOf({ provider, dataId, resells }: Source): readonly Model[] {
  return (findProvider({ providerId: dataId })?.models ?? []).flatMap((data) => {
    // Some names in the data resolve to another model. They are left out.
    const aliases = spelledNames(data).filter((name) => quote(dataId, name, someDay)?.model.id === data.id);
    const [name] = aliases;
    if (name === undefined || noConversation.test(data.id) || resells?.test(data.id) === true) return [];
    if (priceFrom(dataId, name, someDay) === null) return [];
    return [
      {
        id: `${provider}/${name}`,
        provider,
        name,
        aliases,
        ...(data.context_window === undefined ? {} : { contextWindow: data.context_window }),
        ...(data.deprecated === true ? { deprecated: true as const } : {}),
      },
    ];
  });
}

/** Returns the price of a model; null if the data has no price for text. */
function priceFrom(dataId: string, name: string, at: Date): Price | null {
  const quoted = quote(dataId, name, at);
  const price = quoted?.model_price ?? {};
  const input = centsOf(price['input_mtok']);
  const output = centsOf(price['output_mtok']);
  if (quoted === null || input === null || output === null) return null;
  const read = centsOf(price['cache_read_mtok']);
  const written = centsOf(price['cache_write_mtok']);
  return {
    inputCentsPerMillionTokens: input,
    outputCentsPerMillionTokens: output,
    ...(read === null ? {} : { cachedInputCentsPerMillionTokens: read }),
    ...(written === null ? {} : { cacheWriteCentsPerMillionTokens: written }),
    ...(dependsOnLength(price) || dependsOnHour(quoted.model) ? { tiered: true as const } : {}),
  };
}

/**
 * Converts a price in dollars to cents, for the lowest tier. It is rounded to a millionth of a cent, which removes the
 * error of binary fractions.
 */
const centsOf = (price: ModelPrice[string]): number | null =>
  price === undefined ? null : Math.round((typeof price === 'number' ? price : price.base) * 1e8) / 1e6;

const dependsOnLength = (price: ModelPrice): boolean => ['input_mtok', 'output_mtok'].some((unit) => typeof price[unit] === 'object');

const dependsOnHour = ({ prices }: ModelInfo): boolean =>
  Array.isArray(prices) && prices.some(({ constraint }) => constraint?.type === 'time_of_date');

const demo: Model = { id: demoModel, provider: 'demo', name: 'echo', aliases: [] };
const free: Price = { inputCentsPerMillionTokens: 0, outputCentsPerMillionTokens: 0 };

interface Catalogue {
  readonly models: readonly Model[];
  readonly byName: ReadonlyMap<string, Model>;
}

/** Created at the first use, so that an import does not wait for it. */
let made: Catalogue | null = null;

function catalogue(): Catalogue {
  made ??= makeCatalogue();
  return made;
}

function makeCatalogue(): Catalogue {
  const models = catalogueOf([demo, ...sources.flatMap(modelsOf)]);
  return { models, byName: new Map(models.flatMap((model) => namesOf(model).map((name) => [name, model] as const))) };
}

/** Returns the models sorted by id. A name that several providers have is not an alias of any model. */
function catalogueOf(all: readonly Model[]): readonly Model[] {
  const counts = new Map<string, number>();
  for (const alias of all.flatMap(({ aliases }) => aliases)) counts.set(alias, (counts.get(alias) ?? 0) + 1);
  return all
    .map((model) => ({ ...model, aliases: model.aliases.filter((alias) => counts.get(alias) === 1) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

function namesOf({ id, provider, aliases }: Model): readonly string[] {
  return [id, ...aliases.flatMap((alias) => [alias, `${provider}/${alias}`])];
}

/** Returns the model that a name means, or null. */
function findModel(name: string): Model | null {
  return catalogue().byName.get(name) ?? (released.test(name) ? findReleased(name) : null);
}

/**
 * Finds the model of a name with a release date, such as `claude-haiku-4-5-20251001`. The price data defines which
 * model the release belongs to.
 */
function findReleased(text: string): Model | null {
  const [name = '', provider = null] = text.split('/').reverse();
  const found = sources
    .filter((source) => provider === null || source.provider === provider)
    .flatMap((source) => catalogue().byName.get(`${source.provider}/${quote(source.dataId, name, someDay)?.model.id}`) ?? []);
  return found.length === 1 ? (found[0] ?? null) : null;
}

export const isRecognisedModel = (name: string): boolean => findModel(name) !== null;

/**
 * Returns the model that a name means. `name` in the result is for requests to the provider: it is the given name
 * without the provider. A release date or an alias in the given name is kept as it was written.
 */
export function servedBy(name: string): ServedModel | null {
  const model = findModel(name);
  if (model === null) return null;
  const { id, provider } = model;
  return { id, provider, name: name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name };
}

/** Returns the price of a recognised model at `at`; null for a name that is not recognised. */
export function priceOf(name: string, at: Date): Price | null {
  const model = findModel(name);
  if (model === null) return null;
  const source = sources.find(({ provider }) => provider === model.provider);
  return source === undefined ? free : priceFrom(source.dataId, model.name, at);
}

/**
 * Returns the price data at `at`, in dollars. `hourly`: prices differ by hour. Null for a model without price data: the
 * demo, or an unknown name.
 */
export function quoteOf(name: string, at: Date): { readonly prices: ModelPrice; readonly hourly: boolean } | null {
  const model = findModel(name);
  const source = sources.find(({ provider }) => provider === model?.provider);
  const quoted = model === null || source === undefined ? null : quote(source.dataId, model.name, at);
  return quoted === null ? null : { prices: quoted.model_price, hourly: dependsOnHour(quoted.model) };
}

/** Some prices depend on the hour. They change at whole and half hours. */
export const pricesLastMs = 30 * 60_000;
let listed: { readonly from: number; readonly models: readonly PricedModel[] } | null = null;

/** Returns all models sorted by id, with prices at `at`. */
export function listModels(at: Date): readonly PricedModel[] {
  const from = Math.floor(at.getTime() / pricesLastMs) * pricesLastMs;
  if (listed?.from !== from) listed = { from, models: priceAll(new Date(from)) };
  return listed.models;
}

const priceAll = (at: Date): readonly PricedModel[] =>
  catalogue().models.flatMap((model) => {
    const price = priceOf(model.id, at);
    return price === null ? [] : [{ ...model, ...price }];
  });

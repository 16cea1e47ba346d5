// Checks and parses the OpenAI-compatible endpoints that the operator configures in `TOLLGATE_MODEL_ENDPOINTS`. They
// never contain a key. An endpoint names the environment variable that contains its key.
import { isLoopback } from '@tollgate/proto/contract';
import { isObject } from '@tollgate/proto/shape';
import type { Price } from './models.ts';

export interface ModelEndpoint {
  /** A provider of the catalogue, whose models the endpoint then serves, or a new provider. */
  readonly provider: string;
  readonly baseUrl: string;
  /** Null: the endpoint needs no key. */
  readonly keyVariable: string | null;
  /**
   * The length of the longest reply of its models, in tokens; null: for each model, the known value for the model's
   * name.
   */
  readonly maxOutputTokens: number | null;
  /** Models that the endpoint serves in addition to the models of the catalogue. */
  readonly models: readonly ConfiguredModel[];
}

export interface ConfiguredModel extends Price {
  readonly name: string;
  readonly contextWindow?: number;
}

type Test = (value: unknown) => boolean;
type Fields = Readonly<Record<string, { readonly test: Test; readonly required?: true }>>;

const endpointsMax = 50;
const modelsMax = 500;
/** These providers use their own protocols, and have separate variables. */
const builtIn = ['anthropic', 'demo', 'openai'];

const isText =
  (form: RegExp): Test =>
  (value) =>
    typeof value === 'string' && form.test(value);
const isPrice: Test = (value) => typeof value === 'number' && value >= 0 && value <= 100_000_000;
const isCount: Test = (value) => Number.isSafeInteger(value) && Number(value) >= 1;

const modelFields: Fields = {
  name: { test: isText(/^[!-~]{1,150}$/), required: true },
  inputCentsPerMillionTokens: { test: isPrice, required: true },
  outputCentsPerMillionTokens: { test: isPrice, required: true },
  cachedInputCentsPerMillionTokens: { test: isPrice },
  cacheWriteCentsPerMillionTokens: { test: isPrice },
  contextWindow: { test: isCount },
};

const endpointFields: Fields = {
  provider: { test: isText(/^[a-z0-9][a-z0-9-]{0,39}$/), required: true },
  baseUrl: { test: (value) => typeof value === 'string', required: true },
  // A name with our prefix is a variable of this program, or a mistake. It is not accepted.
  keyVariable: { test: isText(/^(?!TOLLGATE_)[A-Za-z_][A-Za-z0-9_]{0,99}$/) },
  maxOutputTokens: { test: isCount },
  models: { test: (value) => Array.isArray(value) && value.length <= modelsMax },
};

/**
 * Returns why the text is not a valid list of endpoints; null: it is valid. The message names places and never values.
 */
export function modelEndpointsProblem(text: string): string | null {
  const list = parsed(text);
  if (!Array.isArray(list) || list.length > endpointsMax) return `must be a JSON list of at most ${endpointsMax} endpoints`;
  for (const [at, one] of list.entries()) {
    const problem = endpointProblem(one);
    if (problem !== null) return `[${at}]${problem}`;
  }
  const names = list.map(({ provider }) => String(provider));
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  return twice === undefined ? null : `names ${twice} twice`;
}

/** Returns the endpoints in the text. The list is empty if there is no text, or if the text has a problem. */
export function parseModelEndpoints(text: string | null): readonly ModelEndpoint[] {
  if (text === null || modelEndpointsProblem(text) !== null) return [];
  // The text has passed the test of every field.
  const list = parsed(text) as readonly (Partial<ModelEndpoint> & Pick<ModelEndpoint, 'provider' | 'baseUrl'>)[];
  return list.map(({ provider, baseUrl, keyVariable = null, maxOutputTokens = null, models = [] }) => ({
    provider,
    baseUrl: baseUrl.replace(/\/+$/, ''),
    keyVariable,
    maxOutputTokens,
    models,
  }));
}

/**
 * Returns why the URL is not valid for an endpoint; null: it is valid. If the endpoint has a key (`keyed`), the URL
 * must use TLS or point to this machine.
 */
export function baseUrlProblem(text: string, keyed: boolean): string | null {
  const form = `must be a URL of ${keyed ? 'https, or of http on loopback' : 'http or https'}, without user, password, query and fragment`;
  if (!URL.canParse(text)) return form;
  const { protocol, hostname, username, password } = new URL(text);
  const secure = protocol === 'https:' || (protocol === 'http:' && (!keyed || isLoopback(hostname.replace(/^\[|\]$/g, ''))));
  return secure && username === '' && password === '' && !/[?#]/.test(text) ? null : form;
}

function endpointProblem(value: unknown): string | null {
  const problem = fieldProblem(value, endpointFields);
  if (problem !== null || !isObject(value)) return problem;
  const { provider, baseUrl, keyVariable, models = [] } = value;
  if (builtIn.includes(String(provider))) return `.provider must not be one of the built-in providers ${builtIn.join(', ')}`;
  const wrong = baseUrlProblem(String(baseUrl), keyVariable !== undefined);
  if (wrong !== null) return `.baseUrl ${wrong}`;
  for (const [at, model] of Array.isArray(models) ? models.entries() : []) {
    const bad = fieldProblem(model, modelFields);
    if (bad !== null) return `.models[${at}]${bad}`;
  }
  return null;
}

function fieldProblem(value: unknown, fields: Fields): string | null {
  if (!isObject(value)) return ' must be an object';
  const unknown = Object.keys(value).some((key) => !Object.hasOwn(fields, key));
  if (unknown) return ` has an unknown field; the fields are ${Object.keys(fields).join(', ')}`;
  for (const [key, { test, required }] of Object.entries(fields)) {
    if (!Object.hasOwn(value, key) ? required : !test(value[key]))
      return `.${key} ${Object.hasOwn(value, key) ? 'is malformed' : 'is required'}`;
  }
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

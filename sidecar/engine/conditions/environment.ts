// Defines what a condition can read of one call, and how a value inside a list or an object is read: own keys only, and
// no number that lost digits.
import { InexactNumber } from '../json/strict-json.ts';
import { isJsonObject, type JsonObject, OwnValue, Undecided } from './values.ts';

/**
 * The places of numbers that lost digits when the text of the input was parsed: by the object or list that holds the
 * number, its keys or indexes.
 */
export type RoundedNumbers = ReadonlyMap<object, ReadonlySet<string | number>>;

/** What a condition reads of one call. */
export interface Environment {
  /** By name: `args`, `tool`, `agent`, `user` and `now`. A value is JSON, a `Timestamp` or an `Undecided`. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Null: no number lost digits. */
  readonly rounded: RoundedNumbers | null;
  /** The steps that this condition has made: see `spend`. */
  steps: number;
  /** The values of loop variables, by slot. */
  readonly slots: unknown[];
}

/** The steps that one condition may make. A loop makes, for each element, as many as its body has nodes. */
export const stepsMax = 20_000;
/** The length of a text that a condition may match with a pattern, in UTF-16 code units. */
export const subjectLengthMax = 65_536;
/** The length of a text, or of a list, that a condition may build. */
export const builtLengthMax = 1_048_576;

/**
 * Counts steps. Returns false if the condition has none left. Reading texts and lists costs steps too, so that a loop over
 * a long list cannot read a long text each time.
 */
export function spend(env: Environment, steps: number): boolean {
  env.steps += steps;
  return env.steps <= stepsMax;
}

/** The steps for reading a text of this length, in UTF-16 code units. */
export const textSteps = (length: number): number => length >> 8;
/** The steps for comparing so many elements. */
export const elementSteps = (count: number): number => count >> 4;

/** A part of a condition, with the values that it returns if it cannot be evaluated. Made once, when it is compiled. */
export class Site {
  readonly path: string;
  readonly absent: Undecided;
  readonly type: Undecided;
  readonly rounded: Undecided;
  readonly budget: Undecided;
  readonly unclear: Undecided;

  constructor(path: string) {
    this.path = path;
    this.absent = new Undecided('absent', path);
    this.type = new Undecided('type', path);
    this.rounded = new Undecided('rounded', path);
    this.budget = new Undecided('budget', path);
    this.unclear = new Undecided('unclear', path);
  }
}

/** Reads an element of a list. The index must exist. */
export const readIndex = (list: readonly unknown[], index: number, env: Environment, site: Site): unknown =>
  readable(list[index], list, index, env, site);

/** Reads an own key of an object. The key must exist. */
export const readKey = (holder: JsonObject, key: string, env: Environment, site: Site): unknown =>
  readable(holder[key], holder, key, env, site);

/** Returns the value if a condition may use it. Otherwise returns why not. */
function readable(value: unknown, holder: object, key: string | number, { rounded }: Environment, site: Site): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return rounded?.get(holder)?.has(key) === true ? site.rounded : value;
    case 'object':
      if (value === null || Array.isArray(value) || isJsonObject(value) || value instanceof OwnValue || value instanceof Undecided)
        return value;
      return value instanceof InexactNumber ? site.rounded : site.type;
    default:
      return value === undefined ? site.absent : site.type;
  }
}

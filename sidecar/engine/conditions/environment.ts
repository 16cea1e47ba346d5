// Defines what a condition can read of one call, and how a value inside a list or an object is read: own keys only, and
// no number that lost digits. It also counts the steps that a condition may make.
import type { Expression } from '@tollgate/proto/contract';
import { InexactNumber } from '../json/strict-json.ts';
import { expressionText } from './expression-text.ts';
import { isJsonObject, type JsonObject, OwnValue, Undecided, type UndecidedReason } from './values.ts';

/** What a condition reads of one call. */
export interface Environment {
  /** By name: `args`, `tool`, `agent`, `user` and `now`. A value is JSON, a `Timestamp` or an `Undecided`. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** The steps that this condition has made: see `spend`. Never more than `stepsMax`. */
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
 * Counts steps before they are made. Returns false if the condition has too few left: then it must not make them, and
 * has none left at all. Reading texts and lists costs steps too, so that a loop over a long list cannot read a long text
 * each time.
 */
export function spend(env: Environment, steps: number): boolean {
  if (env.steps + steps <= stepsMax) {
    env.steps += steps;
    return true;
  }
  env.steps = stepsMax;
  return false;
}

/** The steps for reading a text of this length, in UTF-16 code units. */
export const textSteps = (length: number): number => length >> 8;
/** The steps for changing a text of this length character by character. */
export const rewriteSteps = (length: number): number => length >> 5;
/** The steps for searching in a text. A search may compare each character of one text with each of the other. */
export const searchSteps = (text: string, wanted: string): number =>
  textSteps(text.length) + Math.floor((text.length * wanted.length) / 4_096);
/** The steps for reading so many elements of a list. */
export const elementSteps = (count: number): number => (count + 7) >> 3;

/** The keys of objects with many keys, which take long to collect: all conditions of a call read the same input. */
const manyKeys = new WeakMap<JsonObject, readonly string[]>();
const manyMin = 256;

/** Returns the own keys of an object. Each takes a step. Null: the condition has too few steps left. */
export function ownKeys(object: JsonObject, env: Environment): readonly string[] | null {
  // The number of keys is known only after they were collected.
  if (env.steps >= stepsMax) return null;
  const keys = manyKeys.get(object) ?? Object.keys(object);
  if (keys.length >= manyMin) manyKeys.set(object, keys);
  return spend(env, keys.length) ? keys : null;
}

/** A part of a condition, with the values that it returns if it cannot be evaluated. Each is made once. */
export class Site {
  #of: Expression | string;
  #made: Undecided[] | null = null;

  /** `of`: the node, or its text for people. */
  constructor(of: Expression | string) {
    this.#of = of;
  }

  /** The text of the part for people. It is made when it is needed. */
  get path(): string {
    if (typeof this.#of !== 'string') this.#of = expressionText(this.#of);
    return this.#of;
  }

  get absent(): Undecided {
    return this.#undecided('absent');
  }
  get type(): Undecided {
    return this.#undecided('type');
  }
  get rounded(): Undecided {
    return this.#undecided('rounded');
  }
  get budget(): Undecided {
    return this.#undecided('budget');
  }
  get unclear(): Undecided {
    return this.#undecided('unclear');
  }

  #undecided(reason: UndecidedReason): Undecided {
    this.#made ??= [];
    for (const one of this.#made) if (one.reason === reason) return one;
    const made = new Undecided(reason, this.path);
    this.#made.push(made);
    return made;
  }
}

/** Reads an element of a list. The index must exist. */
export const readIndex = (list: readonly unknown[], index: number, site: Site): unknown => readable(list[index], site);

/** Reads an own key of an object. The key must exist. */
export const readKey = (holder: JsonObject, key: string, site: Site): unknown => readable(holder[key], site);

/** Returns the value if a condition may use it. Otherwise returns why not. */
function readable(value: unknown, site: Site): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      // JSON has no other number, and every comparison with NaN would be false.
      return Number.isFinite(value) ? value : site.type;
    case 'object':
      if (value === null || Array.isArray(value) || isJsonObject(value) || value instanceof OwnValue || value instanceof Undecided)
        return value;
      return value instanceof InexactNumber ? site.rounded : site.type;
    default:
      return value === undefined ? site.absent : site.type;
  }
}

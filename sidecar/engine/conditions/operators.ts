// Compiles the operators of conditions. An operand that is undecided makes the result undecided, except where the other
// operand alone decides it.
import { compute, negated, type Operator, order } from './arithmetic.ts';
import { type Environment, readIndex, readKey, type Site } from './environment.ts';
import { contains, equals } from './equality.ts';
import { nodesOf, type Part } from './part.ts';
import { isJsonObject, isList, mapKeyOf, MapValue, Uint, Undecided } from './values.ts';

export type Operands = readonly [Part, Part, Part];

/** The operators, by the name that they have in an expression, with the number of their operands. */
export const operators: Readonly<Record<string, readonly [arity: number, build: (operands: Operands, site: Site) => Part]>> = {
  and: [2, ([a, b], site) => logical(a, b, false, site)],
  or: [2, ([a, b], site) => logical(a, b, true, site)],
  not: [1, ([a], site) => unary(a, opposite, site)],
  neg: [1, ([a], site) => ({ ...unary(a, negated, site), fromInput: a.fromInput })],
  notFalse: [1, notFalse],
  if: [3, choice],
  eq: [2, ([a, b], site) => equality(a, b, false, site)],
  ne: [2, ([a, b], site) => equality(a, b, true, site)],
  lt: [2, ([a, b], site) => comparison(a, b, (left, right) => left < right, site)],
  le: [2, ([a, b], site) => comparison(a, b, (left, right) => left <= right, site)],
  gt: [2, ([a, b], site) => comparison(a, b, (left, right) => left > right, site)],
  ge: [2, ([a, b], site) => comparison(a, b, (left, right) => left >= right, site)],
  add: [2, ([a, b], site) => arithmetic(a, b, 'add', site)],
  sub: [2, ([a, b], site) => arithmetic(a, b, 'sub', site)],
  mul: [2, ([a, b], site) => arithmetic(a, b, 'mul', site)],
  div: [2, ([a, b], site) => arithmetic(a, b, 'div', site)],
  mod: [2, ([a, b], site) => arithmetic(a, b, 'mod', site)],
  in: [2, ([a, b], site) => membership(a, b, site)],
  index: [2, ([a, b], site) => indexed(a, b, site)],
};

/** `&&` and `||`: `ends` is the value with which one operand decides alone, whatever the other is. */
function logical(a: Part, b: Part, ends: boolean, site: Site): Part {
  const [left, right] = [a.evaluate, b.evaluate];
  return {
    evaluate: (env) => {
      const first = left(env);
      if (first === ends) return ends;
      const second = right(env);
      if (second === ends) return ends;
      if (first === !ends && second === !ends) return !ends;
      return first instanceof Undecided ? first : second instanceof Undecided ? second : site.type;
    },
    fromInput: false,
    nodes: nodesOf([a, b]),
  };
}

const opposite = (value: unknown, site: Site): unknown => (typeof value === 'boolean' ? !value : site.type);

function unary(of: Part, apply: (value: unknown, site: Site) => unknown, site: Site): Part {
  const read = of.evaluate;
  return {
    evaluate: (env) => {
      const value = read(env);
      return value instanceof Undecided ? value : apply(value, site);
    },
    fromInput: false,
    nodes: nodesOf([of]),
  };
}

function notFalse([of]: Operands): Part {
  const read = of.evaluate;
  return { evaluate: (env) => read(env) !== false, fromInput: false, nodes: nodesOf([of]) };
}

function choice([condition, yes, no]: Operands, site: Site): Part {
  const [read, whenTrue, whenFalse] = [condition.evaluate, yes.evaluate, no.evaluate];
  return {
    evaluate: (env) => {
      const value = read(env);
      if (value === true) return whenTrue(env);
      if (value === false) return whenFalse(env);
      return value instanceof Undecided ? value : site.type;
    },
    fromInput: yes.fromInput || no.fromInput,
    nodes: nodesOf([condition, yes, no]),
  };
}

type ApplyBinary = (first: unknown, second: unknown, env: Environment, site: Site) => unknown;

/** Compiles an operator that needs the values of both operands. */
function binary(a: Part, b: Part, apply: ApplyBinary, site: Site): Part {
  const [left, right] = [a.evaluate, b.evaluate];
  return {
    evaluate: (env) => {
      const first = left(env);
      if (first instanceof Undecided) return first;
      const second = right(env);
      return second instanceof Undecided ? second : apply(first, second, env, site);
    },
    fromInput: false,
    nodes: nodesOf([a, b]),
  };
}

function equality(a: Part, b: Part, isNegated: boolean, site: Site): Part {
  const strict = a.fromInput || b.fromInput;
  const [left, right, literal] = [a.evaluate, b.evaluate, doubleOf(b)];
  return {
    evaluate: (env) => {
      const first = left(env);
      if (literal !== null && typeof first === 'number') return (first === literal) !== isNegated;
      if (first instanceof Undecided) return first;
      const second = right(env);
      if (second instanceof Undecided) return second;
      const same = equals(first, second, strict, env, site);
      return typeof same === 'boolean' ? same !== isNegated : same;
    },
    fromInput: false,
    nodes: nodesOf([a, b]),
  };
}

/** The value of a number in the condition itself, if a double holds it exactly: comparing doubles is fast. */
function doubleOf({ constant }: Part): number | null {
  const value = constant?.value;
  if (typeof value === 'number') return value;
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : null;
}

/** `holds`: whether two numbers are in this order. Of other values it gets the order, and 0. */
function comparison(a: Part, b: Part, holds: (left: number, right: number) => boolean, site: Site): Part {
  const [left, right, literal] = [a.evaluate, b.evaluate, doubleOf(b)];
  return {
    evaluate: (env) => {
      const first = left(env);
      if (literal !== null && typeof first === 'number') return holds(first, literal);
      if (first instanceof Undecided) return first;
      const second = right(env);
      if (second instanceof Undecided) return second;
      const ordered = order(first, second, env, site);
      return typeof ordered === 'number' ? holds(ordered, 0) : ordered;
    },
    fromInput: false,
    nodes: nodesOf([a, b]),
  };
}

function arithmetic(a: Part, b: Part, operator: Operator, site: Site): Part {
  const mixes = a.fromInput || b.fromInput;
  return { ...binary(a, b, (first, second, env) => compute(operator, first, second, mixes, env, site), site), fromInput: mixes };
}

function membership(element: Part, container: Part, site: Site): Part {
  const strict = element.fromInput || container.fromInput;
  return binary(element, container, (value, of, env) => contains(of, value, strict, env, site), site);
}

const indexed = (container: Part, key: Part, site: Site): Part => ({
  ...binary(container, key, (of, at) => elementAt(of, at, site), site),
  fromInput: container.fromInput,
});

function elementAt(of: unknown, at: unknown, site: Site): unknown {
  if (isList(of)) {
    const index = indexOf(at);
    if (index === null) return site.type;
    return index < 0 || index >= of.length ? site.absent : readIndex(of, index, site);
  }
  if (isJsonObject(of)) {
    if (typeof at !== 'string') return site.type;
    return Object.hasOwn(of, at) ? readKey(of, at, site) : site.absent;
  }
  if (!(of instanceof MapValue)) return site.type;
  const key = mapKeyOf(at);
  const entry = key === null ? undefined : of.entries.get(key);
  return entry === undefined ? site.absent : entry.value;
}

/** Null: the value is no whole number. */
function indexOf(value: unknown): number | null {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  return typeof value === 'number' && Number.isInteger(value) ? value : null;
}

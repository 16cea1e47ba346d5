// Compiles an expression into closures. Compiling resolves names, prepares patterns and makes every undecided result
// beforehand, so that evaluating only reads values. Evaluating never throws: a part that cannot be evaluated returns an
// `Undecided`.
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { compute, negated, type Operator, order } from './arithmetic.ts';
import { elementSteps, type Environment, readIndex, readKey, Site, spend } from './environment.ts';
import { contains, equals } from './equality.ts';
import { functions } from './functions/index.ts';
import { Bytes, isJsonObject, isList, type MapKey, mapKeyOf, MapValue, OwnValue, TypeValue, Uint, Undecided } from './values.ts';

export type Evaluate = (env: Environment) => unknown;

/** A compiled node. */
export interface Part {
  readonly evaluate: Evaluate;
  /** Whether its value may come from the input: then comparisons with other types are undecided. */
  readonly fromInput: boolean;
  /** Its text, for people. */
  readonly path: string;
  readonly nodes: number;
  /** The value of a text in the expression itself. Undefined: the node is no such text. */
  readonly literal?: string;
}

/** An expression that this version does not understand. The message continues a sentence that begins with its place. */
export class InvalidExpression extends Error {}

interface Scope {
  /** The variables, and whether their values come from the input. */
  readonly variables: ReadonlyMap<string, boolean>;
  readonly loop: Loop | null;
  readonly depth: number;
  readonly counted: { nodes: number; slots: number };
}

interface Loop {
  readonly item: { readonly name: string; readonly slot: number; readonly fromInput: boolean };
  readonly result: { readonly name: string; readonly slot: number; readonly isNewList: boolean };
  readonly outer: Loop | null;
}

/** Compiles an expression over variables. Each variable says whether its value comes from the input. */
export function buildExpression(expression: Expression, variables: ReadonlyMap<string, boolean>): Part {
  return build(expression, { variables, loop: null, depth: 0, counted: { nodes: 0, slots: 0 } });
}

function build(expression: Expression, outer: Scope): Part {
  const scope = { ...outer, depth: outer.depth + 1 };
  scope.counted.nodes += 1;
  if (scope.counted.nodes > conditionBounds.nodes) throw new InvalidExpression(`must have at most ${conditionBounds.nodes} nodes`);
  if (scope.depth > conditionBounds.depth) throw new InvalidExpression(`must be nested at most ${conditionBounds.depth} deep`);
  switch (expression[0]) {
    case 'null':
      return constant(null, 'null');
    case 'bool':
      return constant(expression[1], String(expression[1]));
    case 'int':
      return constant(BigInt(expression[1]), expression[1]);
    case 'uint':
      return constant(new Uint(BigInt(expression[1])), `${expression[1]}u`);
    case 'double':
      return constant(Number(expression[1]), String(expression[1]));
    case 'string':
      return { ...constant(expression[1], shortened(JSON.stringify(expression[1]))), literal: expression[1] };
    case 'bytes':
      return constant(new Bytes(Buffer.from(expression[1], 'base64')), 'b"…"');
    case 'type':
      return constant(new TypeValue(expression[1]), expression[1]);
    case 'var':
      return variable(expression[1], scope);
    case 'field':
      return fieldOf(build(expression[1], scope), expression[2]);
    case 'has':
      return hasOf(build(expression[1], scope), expression[2]);
    case 'list':
      return listOf(operandsOf(expression.slice(1), scope));
    case 'map':
      return mapOf(operandsOf(expression.slice(1), scope));
    case 'call':
      return callOf(expression, scope);
    case 'fold':
      return foldOf(expression, scope);
    default:
      throw new InvalidExpression(`has a node of the unknown kind ${shortened(JSON.stringify(expression[0]))}`);
  }
}

const operandsOf = (operands: readonly unknown[], scope: Scope): readonly Part[] =>
  operands.map((operand) => build(operand as Expression, scope));

const constant = (value: unknown, path: string): Part => ({ evaluate: () => value, fromInput: false, path, nodes: 1 });

const pathLengthMax = 100;
const shortened = (text: string): string => (text.length <= pathLengthMax ? text : `${text.slice(0, pathLengthMax)}…`);

const nodesOf = (parts: readonly Part[]): number => parts.reduce((sum, { nodes }) => sum + nodes, 1);

function variable(name: string, { variables, loop }: Scope): Part {
  for (let one = loop; one !== null; one = one.outer) {
    const { item, result } = one;
    if (item.name === name) return { evaluate: ({ slots }) => slots[item.slot], fromInput: item.fromInput, path: name, nodes: 1 };
    if (result.name === name) return { evaluate: ({ slots }) => slots[result.slot], fromInput: item.fromInput, path: name, nodes: 1 };
  }
  const fromInput = variables.get(name);
  if (fromInput === undefined) throw new InvalidExpression(`reads ${shortened(JSON.stringify(name))}, which is no variable`);
  return { evaluate: (env) => env.variables[name], fromInput, path: name, nodes: 1 };
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/;

function fieldOf(of: Part, name: string): Part {
  const path = shortened(identifier.test(name) ? `${of.path}.${name}` : `${of.path}[${JSON.stringify(name)}]`);
  const [site, read] = [new Site(path), of.evaluate];
  const evaluate: Evaluate = (env) => {
    const value = read(env);
    if (value instanceof Undecided) return value;
    if (isJsonObject(value)) return Object.hasOwn(value, name) ? readKey(value, name, env, site) : site.absent;
    if (value instanceof MapValue) return value.entries.has(name) ? value.entries.get(name)?.value : site.absent;
    return value instanceof OwnValue ? (value.field(name) ?? site.type) : site.type;
  };
  return { evaluate, fromInput: of.fromInput, path, nodes: of.nodes + 1 };
}

function hasOf(of: Part, name: string): Part {
  const path = shortened(`has(${of.path}.${name})`);
  const [site, read] = [new Site(path), of.evaluate];
  const evaluate: Evaluate = (env) => {
    const value = read(env);
    if (value instanceof Undecided) return value;
    if (isJsonObject(value)) {
      const found = Object.hasOwn(value, name) ? value[name] : undefined;
      return found instanceof Undecided ? found : found !== undefined;
    }
    return value instanceof MapValue ? value.entries.has(name) : site.type;
  };
  return { evaluate, fromInput: false, path, nodes: of.nodes + 1 };
}

function listOf(items: readonly Part[]): Part {
  const reads = items.map(({ evaluate }) => evaluate);
  const evaluate: Evaluate = (env) => {
    const list: unknown[] = [];
    for (const read of reads) {
      const value = read(env);
      if (value instanceof Undecided) return value;
      list.push(value);
    }
    return list;
  };
  return { evaluate, fromInput: items.some(({ fromInput }) => fromInput), path: '[…]', nodes: nodesOf(items) };
}

function mapOf(parts: readonly Part[]): Part {
  if (parts.length % 2 !== 0) throw new InvalidExpression('has a map with a key that has no value');
  const site = new Site('{…}');
  const evaluate: Evaluate = (env) => {
    const entries = new Map<MapKey, { readonly key: unknown; readonly value: unknown }>();
    for (let at = 0; at < parts.length; at += 2) {
      const [name, value] = [parts[at]?.evaluate(env), parts[at + 1]?.evaluate(env)];
      if (name instanceof Undecided) return name;
      if (value instanceof Undecided) return value;
      const key = typeof name === 'number' ? null : mapKeyOf(name);
      if (key === null) return site.type;
      if (entries.has(key)) return site.unclear;
      entries.set(key, { key: name, value });
    }
    return new MapValue(entries);
  };
  return { evaluate, fromInput: parts.some(({ fromInput }) => fromInput), path: '{…}', nodes: nodesOf(parts) };
}

type Call = Extract<Expression, readonly ['call', ...unknown[]]>;

function callOf(call: Call, scope: Scope): Part {
  const [, name] = call;
  const appended = appendedTo(call, scope);
  if (appended !== null) return appended;
  const operands = operandsOf(call.slice(2), scope);
  const make = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (make !== undefined) {
    const [arity, built] = make;
    if (operands.length !== arity) throw new InvalidExpression(`calls ${name} with ${operands.length} operands instead of ${arity}`);
    return built(operands as readonly [Part, Part, Part]);
  }
  return functionCall(name, operands);
}

/**
 * Compiles a step `result + [element]` of the macros `map` and `filter`: the element is added to the list, and the list is
 * not copied. The list was made by the loop itself. Null: the call is no such step.
 */
function appendedTo([, name, list, more]: Call, scope: Scope): Part | null {
  const { loop } = scope;
  if (name !== 'add' || loop === null || !loop.result.isNewList || list?.[0] !== 'var' || list[1] !== loop.result.name) return null;
  if (more?.[0] !== 'list' || more.length !== 2 || more[1] === undefined) return null;
  const element = build(more[1], scope);
  const { slot } = loop.result;
  const evaluate: Evaluate = (env) => {
    const [held, value] = [env.slots[slot], element.evaluate(env)];
    if (!Array.isArray(held)) return held;
    if (value instanceof Undecided) return value;
    held.push(value);
    return held;
  };
  return { evaluate, fromInput: element.fromInput, path: element.path, nodes: element.nodes + 3 };
}

function functionCall(name: string, operands: readonly Part[]): Part {
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined) throw new InvalidExpression(`calls ${shortened(JSON.stringify(name))}, which is no function`);
  const { arity, prepare } = known;
  if (operands.length < arity[0] || operands.length > arity[1])
    throw new InvalidExpression(`calls ${name} with ${operands.length} operands, and it takes ${arity[0]} to ${arity[1]}`);
  const path = shortened(`${name}(${operands.map((operand) => operand.path).join(', ')})`);
  const [site, reads] = [new Site(path), operands.map(({ evaluate }) => evaluate)];
  const prepared = prepare?.(operands.map(({ literal }) => literal));
  if (typeof prepared === 'string') throw new InvalidExpression(`calls ${name} with ${prepared}`);
  const apply = prepared ?? known.apply;
  const evaluate: Evaluate = (env) => {
    const values: unknown[] = [];
    for (const read of reads) {
      const value = read(env);
      if (value instanceof Undecided) return value;
      values.push(value);
    }
    return apply(values, env, site);
  };
  const fromInput = known.keepsInput === true && operands.some((operand) => operand.fromInput);
  return { evaluate, fromInput, path, nodes: nodesOf(operands) };
}

type Operands = readonly [Part, Part, Part];

/** The operators, by the name that they have in an expression, with the number of their operands. */
const operators: Readonly<Record<string, readonly [arity: number, built: (operands: Operands) => Part]>> = {
  and: [2, ([a, b]) => logical(a, b, false)],
  or: [2, ([a, b]) => logical(a, b, true)],
  not: [1, ([a]) => unary(`!${a.path}`, a, (value, site) => (typeof value === 'boolean' ? !value : site.type))],
  neg: [1, ([a]) => ({ ...unary(`-${a.path}`, a, negated), fromInput: a.fromInput })],
  notFalse: [1, notFalse],
  if: [3, choice],
  eq: [2, ([a, b]) => equality(a, b, false)],
  ne: [2, ([a, b]) => equality(a, b, true)],
  lt: [2, ([a, b]) => comparison(a, b, '<', (sign) => sign < 0)],
  le: [2, ([a, b]) => comparison(a, b, '<=', (sign) => sign <= 0)],
  gt: [2, ([a, b]) => comparison(a, b, '>', (sign) => sign > 0)],
  ge: [2, ([a, b]) => comparison(a, b, '>=', (sign) => sign >= 0)],
  add: [2, ([a, b]) => arithmetic(a, b, 'add', '+')],
  sub: [2, ([a, b]) => arithmetic(a, b, 'sub', '-')],
  mul: [2, ([a, b]) => arithmetic(a, b, 'mul', '*')],
  div: [2, ([a, b]) => arithmetic(a, b, 'div', '/')],
  mod: [2, ([a, b]) => arithmetic(a, b, 'mod', '%')],
  in: [2, ([a, b]) => membership(a, b)],
  index: [2, ([a, b]) => indexed(a, b)],
};

export const operatorNames: ReadonlySet<string> = new Set(Object.keys(operators));

/** `&&` and `||`: `ends` is the value with which one operand decides alone, whatever the other is. */
function logical(a: Part, b: Part, ends: boolean): Part {
  const path = shortened(`${a.path} ${ends ? '||' : '&&'} ${b.path}`);
  const [left, right, site] = [a.evaluate, b.evaluate, new Site(path)];
  const evaluate: Evaluate = (env) => {
    const first = left(env);
    if (first === ends) return ends;
    const second = right(env);
    if (second === ends) return ends;
    if (first === !ends && second === !ends) return !ends;
    return first instanceof Undecided ? first : second instanceof Undecided ? second : site.type;
  };
  return { evaluate, fromInput: false, path, nodes: nodesOf([a, b]) };
}

function unary(text: string, of: Part, apply: (value: unknown, site: Site) => unknown): Part {
  const path = shortened(text);
  const [read, site] = [of.evaluate, new Site(path)];
  const evaluate: Evaluate = (env) => {
    const value = read(env);
    return value instanceof Undecided ? value : apply(value, site);
  };
  return { evaluate, fromInput: false, path, nodes: of.nodes + 1 };
}

function notFalse([of]: Operands): Part {
  const read = of.evaluate;
  return { evaluate: (env) => read(env) !== false, fromInput: false, path: of.path, nodes: of.nodes + 1 };
}

function choice([condition, yes, no]: Operands): Part {
  const path = shortened(`${condition.path} ? ${yes.path} : ${no.path}`);
  const [read, whenTrue, whenFalse, site] = [condition.evaluate, yes.evaluate, no.evaluate, new Site(path)];
  const evaluate: Evaluate = (env) => {
    const value = read(env);
    if (value === true) return whenTrue(env);
    if (value === false) return whenFalse(env);
    return value instanceof Undecided ? value : site.type;
  };
  return { evaluate, fromInput: yes.fromInput || no.fromInput, path, nodes: nodesOf([condition, yes, no]) };
}

function equality(a: Part, b: Part, isNegated: boolean): Part {
  const path = shortened(`${a.path} ${isNegated ? '!=' : '=='} ${b.path}`);
  const [left, right, site] = [a.evaluate, b.evaluate, new Site(path)];
  const strict = a.fromInput || b.fromInput;
  const evaluate: Evaluate = (env) => {
    const first = left(env);
    if (first instanceof Undecided) return first;
    const second = right(env);
    if (second instanceof Undecided) return second;
    const same = equals(first, second, strict, env, site);
    return same instanceof Undecided ? same : same !== isNegated;
  };
  return { evaluate, fromInput: false, path, nodes: nodesOf([a, b]) };
}

function comparison(a: Part, b: Part, sign: string, holds: (order: number) => boolean): Part {
  const path = shortened(`${a.path} ${sign} ${b.path}`);
  const [left, right, site] = [a.evaluate, b.evaluate, new Site(path)];
  const evaluate: Evaluate = (env) => {
    const first = left(env);
    if (first instanceof Undecided) return first;
    const second = right(env);
    if (second instanceof Undecided) return second;
    const ordered = order(first, second, site);
    return ordered instanceof Undecided ? ordered : holds(ordered);
  };
  return { evaluate, fromInput: false, path, nodes: nodesOf([a, b]) };
}

function arithmetic(a: Part, b: Part, operator: Operator, sign: string): Part {
  const path = shortened(`${a.path} ${sign} ${b.path}`);
  const [left, right, site] = [a.evaluate, b.evaluate, new Site(path)];
  const mixes = a.fromInput || b.fromInput;
  const evaluate: Evaluate = (env) => {
    const first = left(env);
    if (first instanceof Undecided) return first;
    const second = right(env);
    if (second instanceof Undecided) return second;
    // Lists are copied, which a loop could do each time.
    if (isList(first) && isList(second) && !spend(env, elementSteps(first.length + second.length))) return site.budget;
    return compute(operator, first, second, mixes, site);
  };
  return { evaluate, fromInput: mixes, path, nodes: nodesOf([a, b]) };
}

function membership(element: Part, container: Part): Part {
  const path = shortened(`${element.path} in ${container.path}`);
  const [left, right, site] = [element.evaluate, container.evaluate, new Site(path)];
  const strict = element.fromInput || container.fromInput;
  const evaluate: Evaluate = (env) => {
    const value = left(env);
    if (value instanceof Undecided) return value;
    const of = right(env);
    return of instanceof Undecided ? of : contains(of, value, strict, env, site);
  };
  return { evaluate, fromInput: false, path, nodes: nodesOf([element, container]) };
}

function indexed(container: Part, key: Part): Part {
  const path = shortened(`${container.path}[${key.path}]`);
  const [left, right, site] = [container.evaluate, key.evaluate, new Site(path)];
  const evaluate: Evaluate = (env) => {
    const of = left(env);
    if (of instanceof Undecided) return of;
    const at = right(env);
    return at instanceof Undecided ? at : elementAt(of, at, env, site);
  };
  return { evaluate, fromInput: container.fromInput, path, nodes: nodesOf([container, key]) };
}

function elementAt(of: unknown, at: unknown, env: Environment, site: Site): unknown {
  if (isList(of)) {
    const index = typeof at === 'number' ? at : typeof at === 'bigint' ? Number(at) : at instanceof Uint ? Number(at.value) : Number.NaN;
    if (!Number.isInteger(index)) return site.type;
    return index < 0 || index >= of.length ? site.absent : readIndex(of, index, env, site);
  }
  if (isJsonObject(of)) {
    if (typeof at !== 'string') return site.type;
    return Object.hasOwn(of, at) ? readKey(of, at, env, site) : site.absent;
  }
  if (!(of instanceof MapValue)) return site.type;
  const key = mapKeyOf(at);
  return key === null || !of.entries.has(key) ? site.absent : of.entries.get(key)?.value;
}

type Fold = Extract<Expression, readonly ['fold', ...unknown[]]>;

function foldOf([, of, itemName, resultName, first, condition, step, result]: Fold, scope: Scope): Part {
  const { counted, loop: outer } = scope;
  const range = build(of, scope);
  const start = build(first, scope);
  const item = { name: itemName, slot: counted.slots, fromInput: range.fromInput };
  const held = { name: resultName, slot: counted.slots + 1, isNewList: first[0] === 'list' && first.length === 1 };
  counted.slots += 2;
  const inner: Scope = { ...scope, loop: { item, result: held, outer } };
  const [again, next, last] = [build(condition, inner), build(step, inner), build(result, inner)];
  const [body, site] = [again.nodes + next.nodes, new Site(range.path)];
  const evaluate: Evaluate = (env) => {
    const list = range.evaluate(env);
    if (list instanceof Undecided) return list;
    const items = isList(list) ? list : keysOf(list);
    if (items === null) return site.type;
    // The steps are counted before the loop begins, so that a loop is done whole or not at all.
    if (!spend(env, items.length * body)) return site.budget;
    env.slots[held.slot] = start.evaluate(env);
    for (let at = 0; at < items.length; at += 1) {
      env.slots[item.slot] = readIndex(items, at, env, site);
      if (again.evaluate(env) === false) break;
      env.slots[held.slot] = next.evaluate(env);
    }
    return last.evaluate(env);
  };
  const path = shortened(`${range.path}.…`);
  return { evaluate, fromInput: range.fromInput || next.fromInput, path, nodes: nodesOf([range, start, again, next, last]) };
}

function keysOf(value: unknown): readonly unknown[] | null {
  if (isJsonObject(value)) return Object.keys(value);
  return value instanceof MapValue ? [...value.entries.values()].map(({ key }) => key) : null;
}

// Compiles the loops of conditions: `exists`, `all`, `exists_one`, `filter` and `map` are all forms of one node, which
// folds a list, or the keys of a map, into one value.
import { isDeepStrictEqual } from 'node:util';
import type { Expression } from '@tollgate/proto/contract';
import { type Environment, ownKeys, readIndex, Site, spend } from './environment.ts';
import { type Evaluate, nodesOf, type Part } from './part.ts';
import { isJsonObject, isList, MapValue, Undecided } from './values.ts';

/** What surrounds a node while it is compiled. */
export interface Scope {
  /** The variables, and whether their values come from the input. */
  readonly variables: ReadonlyMap<string, boolean>;
  readonly loop: Loop | null;
  readonly counted: { nodes: number; slots: number };
}

interface Loop {
  readonly item: LoopVariable;
  readonly result: LoopVariable;
  /** Whether the elements come from the input. */
  readonly fromInput: boolean;
  /** See `appendOf`. */
  readonly append: Append | null;
  readonly outer: Loop | null;
}

interface LoopVariable {
  readonly name: string;
  readonly slot: number;
}

type Build = (expression: Expression, scope: Scope, depth: number) => Part;
type Fold = Extract<Expression, readonly ['fold', ...unknown[]]>;

/** Compiles a variable of a loop. Null: no loop around the node has such a variable. */
export function loopVariable(name: string, { loop }: Scope): Part | null {
  for (let one = loop; one !== null; one = one.outer) {
    const found = one.item.name === name ? one.item : one.result.name === name ? one.result : null;
    if (found !== null) {
      const { slot } = found;
      return { evaluate: ({ slots }) => slots[slot], fromInput: one.fromInput, nodes: 1 };
    }
  }
  return null;
}

export function foldOf(
  [, of, itemName, resultName, first, condition, step, result]: Fold,
  scope: Scope,
  depth: number,
  build: Build,
): Part {
  const { counted } = scope;
  const [range, start] = [build(of, scope, depth), build(first, scope, depth)];
  const [item, held] = [
    { name: itemName, slot: counted.slots },
    { name: resultName, slot: counted.slots + 1 },
  ];
  counted.slots += 2;
  const append = first[0] === 'list' && first.length === 1 ? appendOf(step, resultName) : null;
  const inner: Scope = { ...scope, loop: { item, result: held, fromInput: range.fromInput, append, outer: scope.loop } };
  const [again, next, last] = [build(condition, inner, depth), build(step, inner, depth), build(result, inner, depth)];
  const [body, site] = [again.nodes + next.nodes, new Site(of)];
  const part = { fromInput: range.fromInput || next.fromInput, nodes: nodesOf([range, start, again, next, last]) };
  const quantified = quantifierOf([first, condition, step, result], resultName);
  if (quantified !== null) {
    // Built alone, so that it is not counted twice.
    const test = build(quantified.test, { ...inner, counted: { nodes: 0, slots: counted.slots } }, depth);
    return {
      ...part,
      evaluate: quantifier({ range, test, ends: quantified.ends, slot: item.slot, body, site, notBoolean: new Site(quantified.test) }),
    };
  }
  return {
    evaluate: (env) => {
      const items = itemsOf(range.evaluate(env), env, site);
      if (items instanceof Undecided) return items;
      // The steps are counted before the loop begins, so that a loop is done whole or not at all.
      if (!spend(env, items.length * body)) return site.budget;
      const { slots } = env;
      slots[held.slot] = append === null ? start.evaluate(env) : [];
      for (let at = 0; at < items.length; at += 1) {
        slots[item.slot] = readIndex(items, at, site);
        if (again.evaluate(env) === false) break;
        slots[held.slot] = next.evaluate(env);
      }
      return last.evaluate(env);
    },
    ...part,
  };
}

/** Returns the elements of a list, or the keys of a map. */
function itemsOf(value: unknown, env: Environment, site: Site): readonly unknown[] | Undecided {
  if (isList(value)) return value;
  if (value instanceof Undecided) return value;
  if (value instanceof MapValue) return [...value.entries.values()].map(({ key }) => key);
  return isJsonObject(value) ? (ownKeys(value, env) ?? site.budget) : site.type;
}

interface Quantifier {
  readonly range: Part;
  readonly test: Part;
  /** The value of an element that decides alone: true for `exists`, false for `all`. */
  readonly ends: boolean;
  readonly slot: number;
  readonly body: number;
  readonly site: Site;
  readonly notBoolean: Site;
}

/** `exists` and `all`, without a node for their result. */
function quantifier({ range, test, ends, slot, body, site, notBoolean }: Quantifier): Evaluate {
  return (env) => {
    const items = itemsOf(range.evaluate(env), env, site);
    if (items instanceof Undecided) return items;
    if (!spend(env, items.length * body)) return site.budget;
    let unclear: Undecided | null = null;
    for (let at = 0; at < items.length; at += 1) {
      env.slots[slot] = readIndex(items, at, site);
      const value = test.evaluate(env);
      if (value === ends) return ends;
      if (value !== !ends) unclear ??= value instanceof Undecided ? value : notBoolean.type;
    }
    return unclear ?? !ends;
  };
}

/** Null: the loop is neither `exists` nor `all`. */
function quantifierOf(loop: readonly [first: Expression, condition: Expression, step: Expression, result: Expression], name: string) {
  const [first, condition, step, result] = loop;
  const held: Expression = ['var', name];
  if (step[0] !== 'call') return null;
  const [, operator, left, test] = step;
  if ((operator !== 'or' && operator !== 'and') || test === undefined) return null;
  const ends = operator === 'or';
  const again: Expression = ['call', 'notFalse', ends ? ['call', 'not', held] : held];
  const isMacro =
    isDeepStrictEqual(left, held) &&
    isDeepStrictEqual(result, held) &&
    isDeepStrictEqual(condition, again) &&
    first[0] === 'bool' &&
    first[1] === !ends;
  return isMacro ? { test, ends } : null;
}

/** The node `result + [element]` of the macros `map` and `filter`. The loop has made the list, and nothing else refers to it. */
interface Append {
  readonly node: Expression;
  readonly element: Expression;
}

/** Null: the step of the loop is another one, so lists are copied when they are added. */
function appendOf(step: Expression, result: string): Append | null {
  const isResult = (node: unknown): boolean => Array.isArray(node) && node[0] === 'var' && node[1] === result;
  if (step[0] !== 'call') return null;
  const [, name, ...operands] = step;
  if (name === 'if') {
    const [, added, same] = operands;
    return added !== undefined && added[1] === 'add' && isResult(same) ? appendOf(added, result) : null;
  }
  const [list, more] = operands;
  if (name !== 'add' || !isResult(list) || more?.[0] !== 'list' || more.length !== 2 || more[1] === undefined) return null;
  return { node: step, element: more[1] };
}

/** Compiles the step of `map` and `filter`: it adds to the list instead of copying it. Null: the node is no such step. */
export function appendStep(node: Expression, scope: Scope, depth: number, build: Build): Part | null {
  const { loop } = scope;
  if (loop?.append?.node !== node) return null;
  const element = build(loop.append.element, scope, depth);
  const { slot } = loop.result;
  return {
    evaluate: (env) => {
      const [held, value] = [env.slots[slot], element.evaluate(env)];
      if (!Array.isArray(held)) return held;
      if (value instanceof Undecided) return value;
      held.push(value);
      return held;
    },
    fromInput: element.fromInput,
    nodes: element.nodes + 3,
  };
}

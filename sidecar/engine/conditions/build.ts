// Compiles an expression into closures. Compiling resolves names and prepares patterns beforehand, so that evaluating
// only reads values. Evaluating never throws: a part that cannot be evaluated returns an `Undecided`.
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { type Environment, readKey, Site } from './environment.ts';
import { hasField } from './equality.ts';
import { appendStep, foldOf, loopVariable, type Scope } from './fold.ts';
import { type Apply, quoted } from './functions/function.ts';
import { functions } from './functions/index.ts';
import { type Operands, operators } from './operators.ts';
import { constant, type Evaluate, InvalidExpression, nodesOf, type Part } from './part.ts';
import { Bytes, isJsonObject, type MapKey, mapKeyOf, MapValue, OwnValue, TypeValue, Uint, Undecided } from './values.ts';

/**
 * Compiles an expression over variables. Each variable says whether its value comes from the input. Throws
 * `InvalidExpression`.
 */
export function buildExpression(expression: Expression, variables: ReadonlyMap<string, boolean>): Part {
  return build(expression, { variables, loop: null, counted: { nodes: 0, slots: 0 } }, 0);
}

function build(expression: Expression, scope: Scope, outerDepth: number): Part {
  const depth = outerDepth + 1;
  scope.counted.nodes += 1;
  if (scope.counted.nodes > conditionBounds.nodes) throw new InvalidExpression(`must have at most ${conditionBounds.nodes} nodes`);
  if (depth > conditionBounds.depth) throw new InvalidExpression(`must be nested at most ${conditionBounds.depth} deep`);
  switch (expression[0]) {
    case 'null':
      return constant(null);
    case 'bool':
      return constant(expression[1]);
    case 'int':
      return constant(BigInt(expression[1]));
    case 'uint':
      return constant(new Uint(BigInt(expression[1])));
    case 'double':
      return constant(Number(expression[1]));
    case 'string':
      return constant(expression[1]);
    case 'bytes':
      return constant(new Bytes(Buffer.from(expression[1], 'base64')));
    case 'type':
      return constant(new TypeValue(expression[1]));
    case 'var':
      return variable(expression[1], scope);
    case 'field':
      return fieldOf(build(expression[1], scope, depth), expression[2], new Site(expression));
    case 'has':
      return hasOf(build(expression[1], scope, depth), expression[2], new Site(expression));
    case 'list':
      return listOf(operandsOf(expression, 1, scope, depth));
    case 'map':
      return mapOf(operandsOf(expression, 1, scope, depth), new Site(expression));
    case 'call':
      return callOf(expression, scope, depth);
    case 'fold':
      return foldOf(expression, scope, depth, build);
    default:
      throw new InvalidExpression(`has a node of the unknown kind ${quoted(expression[0])}`);
  }
}

/** `from`: the index of the first operand in the node. */
function operandsOf(node: readonly unknown[], from: number, scope: Scope, depth: number): readonly Part[] {
  const operands: Part[] = [];
  for (let at = from; at < node.length; at += 1) operands.push(build(node[at] as Expression, scope, depth));
  return operands;
}

function variable(name: string, scope: Scope): Part {
  const ofLoop = loopVariable(name, scope);
  if (ofLoop !== null) return ofLoop;
  const fromInput = scope.variables.get(name);
  if (fromInput === undefined) throw new InvalidExpression(`reads ${quoted(name)}, which is no variable`);
  const [site, read] = [new Site(name), readerOf(name)];
  return {
    evaluate: ({ variables }) => {
      const value = read(variables);
      return value === undefined ? site.absent : value;
    },
    fromInput,
    nodes: 1,
  };
}

type Variables = Environment['variables'];

/** Reading a name that is written in the code is faster than reading one that is in a variable. */
function readerOf(name: string): (variables: Variables) => unknown {
  switch (name) {
    case 'args':
      return (variables) => variables['args'];
    case 'tool':
      return (variables) => variables['tool'];
    case 'agent':
      return (variables) => variables['agent'];
    default:
      return (variables) => variables[name];
  }
}

function fieldOf(of: Part, name: string, site: Site): Part {
  const read = of.evaluate;
  return {
    evaluate: (env) => {
      const value = read(env);
      if (isJsonObject(value)) return Object.hasOwn(value, name) ? readKey(value, name, site) : site.absent;
      if (value instanceof Undecided) return value;
      if (!(value instanceof MapValue)) return value instanceof OwnValue ? (value.field(name) ?? site.type) : site.type;
      const entry = value.entries.get(name);
      return entry === undefined ? site.absent : entry.value;
    },
    fromInput: of.fromInput,
    nodes: of.nodes + 1,
  };
}

function hasOf(of: Part, name: string, site: Site): Part {
  const { evaluate: read, fromInput } = of;
  return {
    evaluate: (env) => {
      const value = read(env);
      if (isJsonObject(value)) return hasField(value, name);
      if (value instanceof Undecided) return value;
      if (value instanceof MapValue) return value.entries.has(name);
      return fromInput ? site.type : false;
    },
    fromInput: false,
    nodes: of.nodes + 1,
  };
}

function listOf(items: readonly Part[]): Part {
  const nodes = nodesOf(items);
  // A list of constants, as in `args.unit in ["a", "b"]`, is made once.
  const values = items.flatMap(({ constant: known }) => (known === undefined ? [] : [known.value]));
  if (values.length === items.length) return constant(Object.freeze(values), nodes);
  const reads = items.map(({ evaluate }) => evaluate);
  return {
    evaluate: (env) => {
      const list: unknown[] = [];
      for (const read of reads) {
        const value = read(env);
        if (value instanceof Undecided) return value;
        list.push(value);
      }
      return list;
    },
    fromInput: items.some(({ fromInput }) => fromInput),
    nodes,
  };
}

function mapOf(parts: readonly Part[], site: Site): Part {
  if (parts.length % 2 !== 0) throw new InvalidExpression('has a map with a key that has no value');
  return {
    evaluate: (env) => {
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
    },
    fromInput: parts.some(({ fromInput }) => fromInput),
    nodes: nodesOf(parts),
  };
}

function callOf(call: Extract<Expression, readonly ['call', ...unknown[]]>, scope: Scope, depth: number): Part {
  const [, name] = call;
  const appended = appendStep(call, scope, depth, build);
  if (appended !== null) return appended;
  const operands = operandsOf(call, 2, scope, depth);
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator === undefined) return functionCall(name, operands, new Site(call));
  const [arity, make] = operator;
  if (operands.length !== arity) throw new InvalidExpression(`calls ${name} with ${operands.length} operands instead of ${arity}`);
  return make(operands as unknown as Operands, new Site(call));
}

function functionCall(name: string, operands: readonly Part[], site: Site): Part {
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (known === undefined) throw new InvalidExpression(`calls ${quoted(name)}, which is no function`);
  const { arity, prepare } = known;
  if (operands.length < arity[0] || operands.length > arity[1])
    throw new InvalidExpression(`calls ${name} with ${operands.length} operands, and it takes ${arity[0]} to ${arity[1]}`);
  const reads = operands.map(({ evaluate }) => evaluate);
  const prepared = prepare?.(operands.map(({ constant: of }) => (typeof of?.value === 'string' ? of.value : undefined)));
  if (typeof prepared === 'string') throw new InvalidExpression(`calls ${name} with ${prepared}`);
  const evaluate = applied(prepared ?? known.apply, reads, site);
  const fromInput = known.keepsInput === true && operands.some((operand) => operand.fromInput);
  return { evaluate, fromInput, nodes: nodesOf(operands) };
}

function applied(apply: Apply, reads: readonly Evaluate[], site: Site): Evaluate {
  const [first, second, third] = reads;
  // Most functions have two operands, for which no loop is needed.
  if (first !== undefined && second !== undefined && third === undefined)
    return (env) => {
      const left = first(env);
      if (left instanceof Undecided) return left;
      const right = second(env);
      return right instanceof Undecided ? right : apply([left, right], env, site);
    };
  return (env) => {
    const values: unknown[] = [];
    for (const read of reads) {
      const value = read(env);
      if (value instanceof Undecided) return value;
      values.push(value);
    }
    return apply(values, env, site);
  };
}

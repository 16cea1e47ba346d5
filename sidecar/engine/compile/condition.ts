// Reads the text of a condition. The text is parsed by `@bufbuild/cel`, checked, and turned into the form that snapshots
// contain. The parser is loaded when the first condition is read, because loading it takes a quarter of a second.
import { createRequire } from 'node:module';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { InvalidExpression } from '../conditions/build.ts';
import { compileCondition } from '../conditions/condition.ts';
import { problemOfLiterals } from '../conditions/functions/index.ts';
import { type ConditionType, fieldsOf, literalType, operatorType, signatures, variableTypes } from './condition-types.ts';

/** What is wrong with a condition. `line` and `column` count from 1. */
export interface ConditionProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

export type ReadCondition = { readonly expression: Expression } | { readonly problem: ConditionProblem };

const read = new LRUCache<string, ReadCondition>({ max: 4_000, maxSize: 16 * 1024 ** 2, sizeCalculation: (_, { length }) => 2_000 + 40 * length });

/** Reads a condition. The same text gives the same object as long as it is remembered. */
export function readCondition(source: string): ReadCondition {
  const known = read.get(source);
  if (known !== undefined) return known;
  const result = readNew(source);
  read.set(source, result);
  return result;
}

function readNew(source: string): ReadCondition {
  const bytes = Buffer.byteLength(source);
  const whole = (message: string): ReadCondition => ({ problem: { message, line: 1, column: 1 } });
  if (bytes > conditionBounds.sourceBytes) return whole(`must be at most ${conditionBounds.sourceBytes} bytes, is ${bytes}`);
  if (source.trim() === '') return whole('must not be empty');
  const parsed = parse(source);
  if ('problem' in parsed) return parsed;
  try {
    const { expression, type } = new Translation(source, parsed.positions).whole(parsed.expr);
    if (type !== 'bool' && type !== 'dyn') return whole(`must be true or false, but is always ${type}`);
    compileCondition(expression);
    return { expression };
  } catch (error) {
    if (error instanceof Mistake) return { problem: error.problem };
    if (error instanceof InvalidExpression) return whole(error.message);
    throw error;
  }
}

interface Parsed {
  readonly expr: Expr;
  /** The offset in the text, by the id of a node. */
  readonly positions: Readonly<Record<string, number>>;
}

const require = createRequire(import.meta.url);

function parse(source: string): Parsed | { readonly problem: ConditionProblem } {
  const cel: typeof import('@bufbuild/cel') = require('@bufbuild/cel');
  try {
    // The parser does not accept a comment without a line break after it.
    const { expr, sourceInfo } = cel.parse(`${source}\n`);
    return { expr, positions: sourceInfo?.positions ?? {} };
  } catch (error) {
    return { problem: syntaxProblem(source, error) };
  }
}

interface SyntaxError {
  readonly rawMessage: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

const isSyntaxError = (error: unknown): error is SyntaxError => error instanceof Error && 'rawMessage' in error && 'location' in error;

function syntaxProblem(source: string, error: unknown): ConditionProblem {
  if (!isSyntaxError(error)) return { message: 'is nested too deep to be parsed', line: 1, column: 1 };
  const { line, column } = error.location.start;
  const found = [...(source.split('\n')[line - 1] ?? '')][column - 1];
  const message = found === undefined ? 'ends in the middle of an expression' : `is not valid at ${JSON.stringify(found)}`;
  return { message: `${message}: ${error.rawMessage}`, line, column };
}

class Mistake extends Error {
  readonly problem: ConditionProblem;
  constructor(problem: ConditionProblem) {
    super(problem.message);
    this.problem = problem;
  }
}

interface Translated {
  readonly expression: Expression;
  readonly type: ConditionType;
  /** The key in `fieldsOf`, if the node has known fields. */
  readonly fields?: string;
}

/** What surrounds a node. */
interface Place {
  readonly depth: number;
  /** The variables of the loop around it. */
  readonly loop: ReadonlySet<string>;
  /** Whether it is inside the body of a loop. */
  readonly isInLoop: boolean;
}

const operatorNames: Readonly<Record<string, string>> = {
  '_&&_': 'and',
  '_||_': 'or',
  '!_': 'not',
  '-_': 'neg',
  '@not_strictly_false': 'notFalse',
  '_?_:_': 'if',
  '_==_': 'eq',
  '_!=_': 'ne',
  '_<_': 'lt',
  '_<=_': 'le',
  '_>_': 'gt',
  '_>=_': 'ge',
  '_+_': 'add',
  '_-_': 'sub',
  '_*_': 'mul',
  '_/_': 'div',
  '_%_': 'mod',
  '@in': 'in',
  '_[_]': 'index',
};

const typeNames = new Set(['bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'null_type', 'type']);

class Translation {
  readonly #source: string;
  readonly #positions: Parsed['positions'];
  #nodes = 0;

  constructor(source: string, positions: Parsed['positions']) {
    this.#source = source;
    this.#positions = positions;
  }

  whole(expr: Expr): Translated {
    return this.#node(expr, { depth: 0, loop: new Set(), isInLoop: false });
  }

  #fail(expr: Expr, message: string): never {
    const offset = Math.min(this.#positions[String(expr.id)] ?? 0, this.#source.length);
    const before = this.#source.slice(0, offset).split('\n');
    throw new Mistake({ message, line: before.length, column: [...(before.at(-1) ?? '')].length + 1 });
  }

  #node(expr: Expr, outer: Place): Translated {
    const place = { ...outer, depth: outer.depth + 1 };
    this.#nodes += 1;
    if (this.#nodes > conditionBounds.nodes) this.#fail(expr, `must have at most ${conditionBounds.nodes} nodes`);
    if (place.depth > conditionBounds.depth) this.#fail(expr, `must be nested at most ${conditionBounds.depth} deep`);
    const { exprKind } = expr;
    switch (exprKind.case) {
      case 'constExpr':
        return this.#constant(expr, exprKind.value);
      case 'identExpr':
        return this.#variable(expr, exprKind.value.name, place);
      case 'selectExpr':
        return this.#field(expr, exprKind.value, place);
      case 'callExpr':
        return this.#call(expr, exprKind.value, place);
      case 'listExpr': {
        const items = exprKind.value.elements.map((element) => this.#node(element, place).expression);
        return { expression: ['list', ...items], type: 'list' };
      }
      case 'structExpr':
        return this.#map(expr, exprKind.value, place);
      case 'comprehensionExpr':
        return this.#fold(expr, exprKind.value, place);
      default:
        return this.#fail(expr, 'is a kind of expression that conditions do not have');
    }
  }

  #constant(expr: Expr, { constantKind }: Extract<Expr['exprKind'], { case: 'constExpr' }>['value']): Translated {
    const expression = ((): Expression => {
      switch (constantKind.case) {
        case 'nullValue':
          return ['null'];
        case 'boolValue':
          return ['bool', constantKind.value];
        case 'int64Value':
          return ['int', String(constantKind.value)];
        case 'uint64Value':
          return ['uint', String(constantKind.value)];
        case 'doubleValue':
          return ['double', Number.isFinite(constantKind.value) ? constantKind.value : String(constantKind.value)];
        case 'stringValue':
          return ['string', constantKind.value];
        case 'bytesValue':
          return ['bytes', Buffer.from(constantKind.value).toString('base64')];
        default:
          return this.#fail(expr, 'is a constant that conditions do not have');
      }
    })();
    return { expression, type: literalType(expression[0]) };
  }

  #variable(expr: Expr, name: string, { loop }: Place): Translated {
    if (loop.has(name)) return { expression: ['var', name], type: 'dyn' };
    const type = Object.hasOwn(variableTypes, name) ? variableTypes[name] : undefined;
    if (type !== undefined) return { expression: ['var', name], type, ...(Object.hasOwn(fieldsOf, name) ? { fields: name } : {}) };
    if (typeNames.has(name)) return { expression: ['type', name], type: 'type' };
    return this.#fail(expr, `${JSON.stringify(name)} is no variable; there are ${Object.keys(variableTypes).join(', ')}`);
  }

  #field(expr: Expr, { operand, field, testOnly }: Extract<Expr['exprKind'], { case: 'selectExpr' }>['value'], place: Place): Translated {
    if (operand === undefined) return this.#fail(expr, 'reads a field of nothing');
    const of = this.#node(operand, place);
    const known = of.fields ?? (of.type === 'url' ? 'url' : undefined);
    const fields = known === undefined ? undefined : fieldsOf[known];
    if (fields !== undefined && !Object.hasOwn(fields, field))
      return this.#fail(expr, `${known} has no field ${JSON.stringify(field)}; it has ${Object.keys(fields).join(', ')}`);
    if (fields === undefined && of.type !== 'dyn' && of.type !== 'map')
      return this.#fail(expr, `reads the field ${JSON.stringify(field)} of ${of.type}, which has no such field`);
    if (testOnly && of.type === 'url') return this.#fail(expr, 'has() takes a field of an object, and a URL has all its fields');
    if (testOnly) return { expression: ['has', of.expression, field], type: 'bool' };
    const path = `${of.fields ?? ''}.${field}`;
    const type = fields?.[field] ?? 'dyn';
    return { expression: ['field', of.expression, field], type, ...(Object.hasOwn(fieldsOf, path) ? { fields: path } : {}) };
  }

  #map(expr: Expr, { entries, messageName }: Extract<Expr['exprKind'], { case: 'structExpr' }>['value'], place: Place): Translated {
    if (messageName !== '') return this.#fail(expr, `makes a message ${JSON.stringify(messageName)}, and conditions have no messages`);
    const parts = entries.flatMap(({ keyKind, value }) => {
      if (keyKind.case !== 'mapKey' || value === undefined) return this.#fail(expr, 'has an entry without a key or a value');
      return [this.#node(keyKind.value, place).expression, this.#node(value, place).expression];
    });
    return { expression: ['map', ...parts], type: 'map' };
  }

  #call(expr: Expr, { target, function: called, args }: Extract<Expr['exprKind'], { case: 'callExpr' }>['value'], place: Place): Translated {
    const operator = Object.hasOwn(operatorNames, called) ? operatorNames[called] : undefined;
    if (operator !== undefined) {
      const operands = args.map((arg) => this.#node(arg, place));
      const typed = operator === 'notFalse' ? { type: 'bool' as const } : operatorType(operator, operands.map(({ type }) => type));
      if (typeof typed === 'string') return this.#fail(expr, typed);
      return { expression: ['call', operator, ...operands.map(({ expression }) => expression)], type: typed.type };
    }
    // `strings.quote(x)` looks like a method of a variable.
    const isQuote = called === 'quote' && target?.exprKind.case === 'identExpr' && target.exprKind.value.name === 'strings';
    const name = isQuote ? 'strings.quote' : called;
    const object = isQuote ? undefined : target;
    const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
    if (signature === undefined) return this.#fail(expr, `there is no function ${JSON.stringify(name)}`);
    const isMethod = object !== undefined;
    if (signature.form !== 'both' && (signature.form === 'method') !== isMethod)
      return this.#fail(expr, isMethod ? `${name} is called as ${name}(value)` : `${name} is called as value.${name}(…)`);
    const operands = [...(object === undefined ? [] : [object]), ...args].map((arg) => this.#node(arg, place));
    const [min, max] = [signature.optionalFrom ?? signature.operands.length, signature.operands.length];
    if (operands.length < min || operands.length > max) {
      const own = isMethod ? 1 : 0;
      const wanted = min === max ? `${max - own}` : `${min - own} to ${max - own}`;
      return this.#fail(expr, `${name} takes ${wanted} arguments, not ${operands.length - own}`);
    }
    for (const [at, { type }] of operands.entries()) {
      const taken = signature.operands[at] ?? [];
      if (type !== 'dyn' && !taken.includes('dyn') && !taken.includes(type))
        return this.#fail(expr, `${name} takes ${taken.join(' or ')}, not ${type}`);
    }
    const expression: Expression = ['call', name, ...operands.map((operand) => operand.expression)];
    // Patterns, ranges and zones are prepared, so that a mistake in them is found with its place.
    const wrong = problemOfLiterals(
      name,
      operands.map((operand) => (operand.expression[0] === 'string' ? operand.expression[1] : undefined)),
    );
    return wrong === null ? { expression, type: signature.result } : this.#fail(expr, wrong);
  }

  #fold(expr: Expr, comprehension: Extract<Expr['exprKind'], { case: 'comprehensionExpr' }>['value'], place: Place): Translated {
    const { iterRange, iterVar, iterVar2, accuVar, accuInit, loopCondition, loopStep, result } = comprehension;
    if (place.isInLoop) return this.#fail(expr, 'exists, all, filter and map may not be inside one another');
    if (iterVar2 !== '' || [iterRange, accuInit, loopCondition, loopStep, result].includes(undefined))
      return this.#fail(expr, 'is a form of loop that conditions do not have');
    if (Object.hasOwn(variableTypes, iterVar)) return this.#fail(expr, `${JSON.stringify(iterVar)} is a variable, so a loop cannot use the name`);
    const inside = { ...place, loop: new Set([...place.loop, iterVar, accuVar]), isInLoop: true };
    const part = (of: Expr | undefined, where: Place): Translated => (of === undefined ? this.#fail(expr, 'has a part missing') : this.#node(of, where));
    const range = part(iterRange, place);
    if (range.type !== 'dyn' && range.type !== 'list' && range.type !== 'map')
      return this.#fail(expr, `loops over ${range.type}, and only lists and maps have elements`);
    const start = part(accuInit, place);
    const expression: Expression = [
      'fold',
      range.expression,
      iterVar,
      accuVar,
      start.expression,
      part(loopCondition, inside).expression,
      part(loopStep, inside).expression,
      part(result, inside).expression,
    ];
    return { expression, type: start.type === 'int' ? 'bool' : start.type };
  }
}

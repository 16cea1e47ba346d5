// Checks a parsed condition node by node, and turns it into the form that snapshots contain.
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { problemOfLiterals } from '../conditions/functions/index.ts';
import { intMax, intMin, uintMax } from '../conditions/values.ts';
import { tooDeep } from './condition-source.ts';
import { type ConditionType, fieldsOf, literalType, operatorType, type Signature, signatures } from './condition-types.ts';

export interface Parsed {
  readonly expr: Expr;
  /** The text that was parsed. */
  readonly text: string;
  /** The offset in the text, by the id of a node. */
  readonly positions: Readonly<Record<string, number>>;
}

/** A mistake in a condition. `offset`: in UTF-16 code units. */
export class Mistake extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

export interface Translated {
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

type Kind<Name extends string> = Extract<Expr['exprKind'], { case: Name }>['value'];

/** The operators, by the name that the parser gives them. */
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
const macros = new Set(['exists', 'all', 'exists_one', 'existsOne', 'filter', 'map']);

export class Translation {
  readonly #parsed: Parsed;
  readonly #variables: Readonly<Record<string, ConditionType>>;
  #nodes = 0;

  constructor(parsed: Parsed, variables: Readonly<Record<string, ConditionType>>) {
    this.#parsed = parsed;
    this.#variables = variables;
  }

  /** Throws `Mistake`. */
  whole(): Translated {
    return this.#node(this.#parsed.expr, { depth: 0, loop: new Set(), isInLoop: false });
  }

  #fail(expr: Expr, message: string): never {
    const { text, positions } = this.#parsed;
    const offset = positions[String(expr.id)] ?? 0;
    // The position of an operator is that of the blanks before it.
    const blanks = /^\s*/.exec(text.slice(offset))?.[0].length ?? 0;
    throw new Mistake(message, offset + blanks);
  }

  #node(expr: Expr, outer: Place): Translated {
    const place = { ...outer, depth: outer.depth + 1 };
    this.#nodes += 1;
    if (this.#nodes > conditionBounds.nodes) this.#fail(expr, `must have at most ${conditionBounds.nodes} nodes`);
    if (place.depth > conditionBounds.depth) this.#fail(expr, tooDeep);
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

  #constant(expr: Expr, { constantKind }: Kind<'constExpr'>): Translated {
    const expression = ((): Expression => {
      switch (constantKind.case) {
        case 'nullValue':
          return ['null'];
        case 'boolValue':
          return ['bool', constantKind.value];
        case 'int64Value':
          return ['int', this.#integer(expr, constantKind.value, intMin, intMax)];
        case 'uint64Value':
          return ['uint', this.#integer(expr, constantKind.value, 0n, uintMax)];
        case 'doubleValue':
          if (!Number.isFinite(constantKind.value)) this.#fail(expr, 'is a number that is too large');
          return ['double', constantKind.value];
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

  #integer(expr: Expr, value: bigint, min: bigint, max: bigint): string {
    return value >= min && value <= max ? String(value) : this.#fail(expr, `must be an integer from ${min} to ${max}`);
  }

  #variable(expr: Expr, name: string, { loop }: Place): Translated {
    if (loop.has(name)) return { expression: ['var', name], type: 'dyn' };
    const type = Object.hasOwn(this.#variables, name) ? this.#variables[name] : undefined;
    if (type !== undefined) return { expression: ['var', name], type, ...(Object.hasOwn(fieldsOf, name) ? { fields: name } : {}) };
    if (typeNames.has(name)) return { expression: ['type', name], type: 'type' };
    return this.#fail(expr, `there is no variable ${JSON.stringify(name)}; there are ${Object.keys(this.#variables).join(', ')}`);
  }

  #field(expr: Expr, { operand, field, testOnly }: Kind<'selectExpr'>, place: Place): Translated {
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

  #map(expr: Expr, { entries, messageName }: Kind<'structExpr'>, place: Place): Translated {
    if (messageName !== '') return this.#fail(expr, `makes a message ${JSON.stringify(messageName)}, and conditions have no messages`);
    const parts = entries.flatMap(({ keyKind, value }) => {
      if (keyKind.case !== 'mapKey' || value === undefined) return this.#fail(expr, 'has an entry without a key or a value');
      return [this.#node(keyKind.value, place).expression, this.#node(value, place).expression];
    });
    return { expression: ['map', ...parts], type: 'map' };
  }

  #call(expr: Expr, call: Kind<'callExpr'>, place: Place): Translated {
    const { target, function: called, args } = call;
    const operator = Object.hasOwn(operatorNames, called) ? operatorNames[called] : undefined;
    if (operator !== undefined) return this.#operator(expr, operator, args, place);
    // `strings.quote(x)` looks like a method of a variable.
    const isQuote = called === 'quote' && target?.exprKind.case === 'identExpr' && target.exprKind.value.name === 'strings';
    const name = isQuote ? 'strings.quote' : called;
    const object = isQuote ? undefined : target;
    const signature = Object.hasOwn(signatures, name) ? signatures[name] : undefined;
    if (signature === undefined) return this.#fail(expr, this.#unknownFunction(name));
    const isMethod = object !== undefined;
    if (signature.form !== 'both' && (signature.form === 'method') !== isMethod)
      return this.#fail(expr, isMethod ? `${name} is called as ${name}(value)` : `${name} is called as value.${name}(…)`);
    const operands = [...(object === undefined ? [] : [object]), ...args].map((arg) => this.#node(arg, place));
    this.#checkOperands(expr, name, signature, operands, isMethod);
    const expression: Expression = ['call', name, ...operands.map((operand) => operand.expression)];
    return { expression, type: signature.result };
  }

  #unknownFunction(name: string): string {
    if (macros.has(name)) return `${name} is called as list.${name}(name, condition), and map also as list.map(name, condition, value)`;
    return name === 'has' ? 'has takes a field, as has(args.amount)' : `there is no function ${JSON.stringify(name)}`;
  }

  #operator(expr: Expr, operator: string, args: readonly Expr[], place: Place): Translated {
    const operands = args.map((arg) => this.#node(arg, place));
    const typed =
      operator === 'notFalse'
        ? { type: 'bool' as const }
        : operatorType(
            operator,
            operands.map(({ type }) => type),
          );
    if (typeof typed === 'string') return this.#fail(expr, typed);
    return { expression: ['call', operator, ...operands.map(({ expression }) => expression)], type: typed.type };
  }

  #checkOperands(expr: Expr, name: string, signature: Signature, operands: readonly Translated[], isMethod: boolean): void {
    const [min, max] = [signature.optionalFrom ?? signature.operands.length, signature.operands.length];
    const own = isMethod ? 1 : 0;
    if (operands.length < min || operands.length > max) {
      const wanted = min === max ? `${max - own}` : `${min - own} to ${max - own}`;
      this.#fail(expr, `${name} takes ${wanted} argument${wanted === '1' ? '' : 's'}, not ${operands.length - own}`);
    }
    for (const [at, { type }] of operands.entries()) {
      const taken = signature.operands[at] ?? [];
      if (type !== 'dyn' && !taken.includes('dyn') && !taken.includes(type))
        this.#fail(expr, `${name} takes ${taken.join(' or ')}${isMethod && at === 0 ? ' before the dot' : ''}, not ${type}`);
    }
    // Patterns, ranges and zones are prepared, so that a mistake in them is found with its place.
    const wrong = problemOfLiterals(
      name,
      operands.map(({ expression }) => (expression[0] === 'string' ? expression[1] : undefined)),
    );
    if (wrong !== null) this.#fail(expr, wrong);
  }

  #fold(expr: Expr, comprehension: Kind<'comprehensionExpr'>, place: Place): Translated {
    const { iterRange, iterVar, iterVar2, accuVar, accuInit, loopCondition, loopStep, result } = comprehension;
    if (place.isInLoop) return this.#fail(expr, 'exists, all, exists_one, filter and map may not be inside one another');
    if (iterVar2 !== '') return this.#fail(expr, 'is a loop with two variables, which conditions do not have');
    if (Object.hasOwn(this.#variables, iterVar))
      return this.#fail(expr, `${JSON.stringify(iterVar)} is a variable already; name the element in another way`);
    const inside = { ...place, loop: new Set([...place.loop, iterVar, accuVar]), isInLoop: true };
    const part = (of: Expr | undefined, where: Place): Translated =>
      of === undefined ? this.#fail(expr, 'is a loop that lacks a part') : this.#node(of, where);
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
    // `exists_one` counts, and its result is whether the number is one.
    return { expression, type: start.type === 'int' ? 'bool' : start.type };
  }
}

// Reads the text of a condition. The text is parsed by `@bufbuild/cel`, checked, and turned into the form that snapshots
// contain. The parser is loaded when the first condition is read, because loading it takes a quarter of a second.
import { createRequire } from 'node:module';
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { compileCondition } from '../conditions/condition.ts';
import { InvalidExpression } from '../conditions/part.ts';
import { type ConditionProblem, problemAt, scanCondition, tooDeep } from './condition-source.ts';
import { Mistake, type Parsed, Translation } from './condition-tree.ts';
import { type ConditionType, variableTypes } from './condition-types.ts';

export type ReadCondition = { readonly expression: Expression } | { readonly problem: ConditionProblem };

const read = new LRUCache<string, ReadCondition>({
  max: 4_000,
  maxSize: 16 * 1024 ** 2,
  // An estimate of what V8 uses for one expression.
  sizeCalculation: (_, { length }) => 2_000 + 40 * length,
});

/** Reads a condition. The same text gives the same object as long as it is remembered. */
export function readCondition(source: string): ReadCondition {
  const known = read.get(source);
  if (known !== undefined) return known;
  const result = readNew(source);
  read.set(source, result);
  return result;
}

function readNew(source: string): ReadCondition {
  const whole = (message: string): ReadCondition => ({ problem: problemAt(source, 0, message) });
  const result = readExpression(source, variableTypes);
  if ('problem' in result) return result;
  const { expression, type } = result;
  if (type !== 'bool' && type !== 'dyn') return whole(`must be true or false, but is always ${type}`);
  try {
    compileCondition(expression);
    return { expression };
  } catch (error) {
    if (error instanceof InvalidExpression) return whole(error.message);
    throw error;
  }
}

type ReadExpression = { readonly expression: Expression; readonly type: ConditionType } | { readonly problem: ConditionProblem };

/** Reads an expression of any type over variables of these types. */
export function readExpression(source: string, variables: Readonly<Record<string, ConditionType>>): ReadExpression {
  const whole = (message: string): ReadExpression => ({ problem: problemAt(source, 0, message) });
  const bytes = Buffer.byteLength(source);
  if (bytes > conditionBounds.sourceBytes) return whole(`must be at most ${conditionBounds.sourceBytes} bytes, is ${bytes}`);
  const scanned = scanCondition(source);
  if ('problem' in scanned) return scanned;
  if (scanned.text.trim() === '') return whole('must not be empty');
  const parsed = parse(source, scanned.text);
  if ('problem' in parsed) return parsed;
  try {
    return new Translation(parsed, variables).whole();
  } catch (error) {
    if (error instanceof Mistake) return { problem: problemAt(source, error.offset, error.message) };
    throw error;
  }
}

const require = createRequire(import.meta.url);
const parser = (): typeof import('@bufbuild/cel') => require('@bufbuild/cel') as typeof import('@bufbuild/cel');

/** `text`: the source without comments. */
function parse(source: string, text: string): Parsed | { readonly problem: ConditionProblem } {
  try {
    // The parser takes long for many blanks at the end.
    const { expr, sourceInfo } = parser().parse(text.trimEnd());
    if (expr !== undefined) return { expr, text, positions: sourceInfo?.positions ?? {} };
    return { problem: problemAt(source, 0, 'must not be empty') };
  } catch (error) {
    return { problem: syntaxProblem(source, text, error) };
  }
}

interface SyntaxError {
  readonly rawMessage: string;
  readonly location: { readonly start: { readonly offset: number } };
}

const isSyntaxError = (error: unknown): error is SyntaxError => error instanceof Error && 'rawMessage' in error && 'location' in error;

function syntaxProblem(source: string, text: string, error: unknown): ConditionProblem {
  if (error instanceof RangeError) return problemAt(source, 0, tooDeep);
  if (!isSyntaxError(error)) return problemAt(source, 0, 'is not valid CEL');
  const offset = mistakeAfter(text, error.location.start.offset);
  return problemAt(source, offset, syntaxWords(text, offset, error.rawMessage));
}

const blanksAt = (text: string, offset: number): number => offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0);
/** The operands that are read behind the first mistake. Each of them is parsed. */
const operandsMax = 16;
const operatorAt = /(?:&&|\|\||==|!=|<=|>=|in\b|[-<>+*/%?:.([{,])/y;

/**
 * The parser says only where the longest text that is an expression ends, such as before the operator in `a == #`. This
 * reads on from there, operand by operand, and returns the offset of the mistake itself.
 */
function mistakeAfter(text: string, end: number): number {
  let offset = blanksAt(text, end);
  for (let operands = 0; operands < operandsMax; ) {
    if (/[)\]}]/.test(text.charAt(offset))) {
      offset = blanksAt(text, offset + 1);
      continue;
    }
    operatorAt.lastIndex = offset;
    const operator = operatorAt.exec(text)?.[0];
    if (operator === undefined) return offset === text.length ? blanksAt(text, end) : offset;
    const operand = blanksAt(text, offset + operator.length);
    if (/[([{,]/.test(operator) && /[)\]}]/.test(text.charAt(operand))) {
      offset = operand;
      continue;
    }
    const length = operandLength(text.slice(operand));
    if (length === null) return offset;
    if (length === 0) return operand;
    offset = blanksAt(text, operand + length);
    operands += 1;
  }
  return offset;
}

/** The length of the expression with which a text begins. Null: the whole text is one. */
function operandLength(text: string): number | null {
  try {
    parser().parse(text);
    return null;
  } catch (error) {
    return isSyntaxError(error) ? error.location.start.offset : 0;
  }
}

/** What people write that CEL does not have, by the text at which the parser stopped. */
const hints: readonly (readonly [begins: RegExp, words: string])[] = [
  [/^=/, '"=" is no operator; compare with "=="'],
  [/^&/, '"&" is no operator; combine with "&&"'],
  [/^\|/, '"|" is no operator; combine with "||"'],
  [/^`/, 'a name in backticks is not read; write ["…"]'],
  [/^(?:and|AND)\b/, '"and" is no operator; combine with "&&"'],
  [/^(?:or|OR)\b/, '"or" is no operator; combine with "||"'],
];

function syntaxWords(text: string, offset: number, rawMessage: string): string {
  const rest = text.slice(offset);
  if (rest === '') return 'ends where a value is missing';
  if (rest.startsWith('?'))
    return /[.[{,]\s*$/.test(text.slice(0, offset))
      ? 'there are no optional values (".?" and "[?"); ask with has(…) first'
      : '"?" needs a value, ":" and another value';
  const word = /^(?:[A-Za-z_]\w*|\d[\w.]*|[^\w\s])/u.exec(rest)?.[0] ?? '';
  if (rawMessage.startsWith('reserved')) return `${JSON.stringify(word)} is a reserved word`;
  const hint = hints.find(([begins]) => begins.test(rest));
  return hint?.[1] ?? `${JSON.stringify(word.slice(0, 32))} is not expected here`;
}

// Reads the condition of a case from a snapshot: the form of every node, and that this version understands it.
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { InvalidExpression } from '../conditions/build.ts';
import { compileCondition } from '../conditions/condition.ts';
import { intMax, intMin, uintMax } from '../conditions/values.ts';
import { InvalidEntry, type Reader } from './read.ts';

export const condition: Reader<Expression> = (value, path) => {
  if (!isExpression(value, 0)) throw new InvalidEntry(`${path}: must be an expression`);
  try {
    compileCondition(value);
    return value;
  } catch (error) {
    if (error instanceof InvalidExpression) throw new InvalidEntry(`${path}: ${error.message}`);
    throw error;
  }
};

function isExpression(value: unknown, depth: number): value is Expression {
  if (!Array.isArray(value) || depth >= conditionBounds.depth) return false;
  const [kind, ...parts]: readonly unknown[] = value;
  const areExpressions = (from: number, to = parts.length): boolean => parts.slice(from, to).every((part) => isExpression(part, depth + 1));
  const [first, second, third] = parts;
  switch (kind) {
    case 'null':
      return parts.length === 0;
    case 'bool':
      return parts.length === 1 && typeof first === 'boolean';
    case 'int':
      return parts.length === 1 && isWhole(first, intMin, intMax);
    case 'uint':
      return parts.length === 1 && isWhole(first, 0n, uintMax);
    case 'double':
      return parts.length === 1 && (typeof first === 'number' || first === 'NaN' || first === 'Infinity' || first === '-Infinity');
    case 'string':
    case 'bytes':
    case 'type':
    case 'var':
      return parts.length === 1 && typeof first === 'string';
    case 'field':
    case 'has':
      return parts.length === 2 && areExpressions(0, 1) && typeof second === 'string';
    case 'list':
    case 'map':
      return areExpressions(0);
    case 'call':
      return typeof first === 'string' && areExpressions(1);
    case 'fold':
      return parts.length === 7 && areExpressions(0, 1) && typeof second === 'string' && typeof third === 'string' && areExpressions(3);
    default:
      return false;
  }
}

const isWhole = (value: unknown, min: bigint, max: bigint): boolean =>
  typeof value === 'string' && /^-?\d{1,20}$/.test(value) && BigInt(value) >= min && BigInt(value) <= max;

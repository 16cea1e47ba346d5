// Reads the condition of a case from a snapshot: the form of every node, and that this version understands it.
import { conditionBounds, type Expression } from '@tollgate/proto/contract';
import { InvalidExpression } from '../conditions/part.ts';
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
  const node: readonly unknown[] = value;
  const [kind, first, second] = node;
  switch (kind) {
    case 'null':
      return node.length === 1;
    case 'bool':
      return node.length === 2 && typeof first === 'boolean';
    case 'int':
      return node.length === 2 && isWhole(first, intMin, intMax);
    case 'uint':
      return node.length === 2 && isWhole(first, 0n, uintMax);
    case 'double':
      return node.length === 2 && (typeof first === 'number' || first === 'NaN' || first === 'Infinity' || first === '-Infinity');
    case 'string':
    case 'bytes':
    case 'type':
    case 'var':
      return node.length === 2 && typeof first === 'string';
    case 'field':
    case 'has':
      return node.length === 3 && isExpression(first, depth + 1) && typeof second === 'string';
    case 'list':
    case 'map':
      return areExpressions(node, 1, depth + 1);
    case 'call':
      return typeof first === 'string' && areExpressions(node, 2, depth + 1);
    case 'fold':
      return (
        node.length === 8 &&
        isExpression(first, depth + 1) &&
        typeof second === 'string' &&
        typeof node[3] === 'string' &&
        areExpressions(node, 4, depth + 1)
      );
    default:
      return false;
  }
}

function areExpressions(node: readonly unknown[], from: number, depth: number): boolean {
  for (let at = from; at < node.length; at += 1) if (!isExpression(node[at], depth)) return false;
  return true;
}

const isWhole = (value: unknown, min: bigint, max: bigint): boolean =>
  typeof value === 'string' && /^-?\d{1,20}$/.test(value) && BigInt(value) >= min && BigInt(value) <= max;

// Implements the arithmetic and the order of CEL. An overflow, a division by zero and operands of the wrong types are
// undecided. There is one addition to CEL: a number of the input and an integer are computed as doubles.
import { builtLengthMax, elementSteps, type Environment, type Site, spend, textSteps } from './environment.ts';
import { compareNumbers, compareTexts } from './equality.ts';
import { Bytes, Duration, intMax, intMin, isList, isNumeric, Timestamp, Uint, Undecided, uintMax } from './values.ts';

export type Operator = 'add' | 'sub' | 'mul' | 'div' | 'mod';

/** `mixes`: one of the operands comes from the input, so that a double and an integer may be combined. */
export function compute(operator: Operator, a: unknown, b: unknown, mixes: boolean, env: Environment, site: Site): unknown {
  if (typeof a === 'number' && typeof b === 'number') return ofDoubles(operator, a, b, site);
  if (typeof a === 'bigint' && typeof b === 'bigint') return ofInts(operator, a, b, site);
  if (a instanceof Uint && b instanceof Uint) return ofUints(operator, a.value, b.value, site);
  if (mixes && isNumeric(a) && isNumeric(b)) return ofMixed(operator, a, b, site);
  if (operator === 'add') return added(a, b, env, site);
  return operator === 'sub' ? subtracted(a, b, site) : site.type;
}

function ofDoubles(operator: Operator, a: number, b: number, site: Site): unknown {
  switch (operator) {
    case 'add':
      return a + b;
    case 'sub':
      return a - b;
    case 'mul':
      return a * b;
    case 'div':
      return a / b;
    case 'mod':
      return site.type;
  }
}

/** A number that a double cannot hold exactly is undecided, because an integer was meant. */
function ofMixed(operator: Operator, a: number | bigint | Uint, b: number | bigint | Uint, site: Site): unknown {
  if (typeof a !== 'number' && typeof b !== 'number') return site.type;
  const [left, right] = [toDouble(a), toDouble(b)];
  if (left === null || right === null) return site.rounded;
  if ((operator === 'div' || operator === 'mod') && right === 0) return site.unclear;
  const result = operator === 'mod' ? left % right : Number(ofDoubles(operator, left, right, site));
  return Math.abs(result) <= Number.MAX_SAFE_INTEGER ? result : site.rounded;
}

/** Null: a double cannot hold the integer. */
function toDouble(value: number | bigint | Uint): number | null {
  if (typeof value === 'number') return value;
  const double = Number(value instanceof Uint ? value.value : value);
  return Number.isSafeInteger(double) ? double : null;
}

function ofInts(operator: Operator, a: bigint, b: bigint, site: Site): unknown {
  // The quotient would not fit, so the remainder is undecided too.
  if (operator === 'mod' && a === intMin && b === -1n) return site.unclear;
  const result = integerResult(operator, a, b);
  return result === null || result < intMin || result > intMax ? site.unclear : result;
}

function ofUints(operator: Operator, a: bigint, b: bigint, site: Site): unknown {
  const result = integerResult(operator, a, b);
  return result === null || result < 0n || result > uintMax ? site.unclear : new Uint(result);
}

/** Null: a division by zero. */
function integerResult(operator: Operator, a: bigint, b: bigint): bigint | null {
  switch (operator) {
    case 'add':
      return a + b;
    case 'sub':
      return a - b;
    case 'mul':
      return a * b;
    case 'div':
      return b === 0n ? null : a / b;
    case 'mod':
      return b === 0n ? null : a % b;
  }
}

function added(a: unknown, b: unknown, env: Environment, site: Site): unknown {
  if (typeof a === 'string' && typeof b === 'string') return a.length + b.length > builtLengthMax ? site.budget : a + b;
  if (isList(a) && isList(b)) return spend(env, elementSteps(a.length + b.length)) ? [...a, ...b] : site.budget;
  if (a instanceof Bytes && b instanceof Bytes) return joinedBytes(a.data, b.data, env) ?? site.budget;
  if (a instanceof Timestamp && b instanceof Duration) return timestampOrUnclear(a.ns + b.ns, site);
  if (a instanceof Duration && b instanceof Timestamp) return timestampOrUnclear(a.ns + b.ns, site);
  return a instanceof Duration && b instanceof Duration ? durationOrUnclear(a.ns + b.ns, site) : site.type;
}

function joinedBytes(a: Uint8Array, b: Uint8Array, env: Environment): Bytes | null {
  const length = a.length + b.length;
  return length <= builtLengthMax && spend(env, textSteps(length)) ? new Bytes(Buffer.concat([a, b])) : null;
}

function subtracted(a: unknown, b: unknown, site: Site): unknown {
  if (a instanceof Timestamp && b instanceof Timestamp) return durationOrUnclear(a.ns - b.ns, site);
  if (a instanceof Timestamp && b instanceof Duration) return timestampOrUnclear(a.ns - b.ns, site);
  return a instanceof Duration && b instanceof Duration ? durationOrUnclear(a.ns - b.ns, site) : site.type;
}

export const secondNs = 1_000_000_000n;
/** 0001-01-01T00:00:00Z. */
const timestampMinNs = -62_135_596_800n * secondNs;
/** 9999-12-31T23:59:59.999999999Z. */
const timestampMaxNs = 253_402_300_800n * secondNs - 1n;

export const timestampOrUnclear = (ns: bigint, site: Site): Timestamp | Undecided =>
  ns < timestampMinNs || ns > timestampMaxNs ? site.unclear : new Timestamp(ns);

/** Durations have 64 bits of nanoseconds, which is 292 years. */
export const durationOrUnclear = (ns: bigint, site: Site): Duration | Undecided =>
  ns < intMin || ns > intMax ? site.unclear : new Duration(ns);

export function negated(value: unknown, site: Site): unknown {
  if (typeof value === 'number') return -value;
  if (typeof value === 'bigint') return value === intMin ? site.unclear : -value;
  return site.type;
}

/** A double and an integer are ordered as doubles, as CEL does: an integer above 2^53 may then be equal to its double. */
function orderNumbers(a: number | bigint | Uint, b: number | bigint | Uint): number {
  if (typeof a === typeof b) return compareNumbers(a, b);
  if (typeof a === 'number') return compareNumbers(a, Number(b instanceof Uint ? b.value : b));
  return typeof b === 'number' ? compareNumbers(Number(a instanceof Uint ? a.value : a), b) : compareNumbers(a, b);
}

/** Returns a negative number, zero, a positive number, or `NaN` if one of two numbers is not a number. */
export function order(a: unknown, b: unknown, env: Environment, site: Site): number | Undecided {
  if (isNumeric(a) && isNumeric(b)) return orderNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string')
    return spend(env, textSteps(Math.min(a.length, b.length))) ? compareTexts(a, b) : site.budget;
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Bytes && b instanceof Bytes)
    return spend(env, textSteps(Math.min(a.data.length, b.data.length))) ? Buffer.compare(a.data, b.data) : site.budget;
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration))
    return a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0;
  return site.type;
}

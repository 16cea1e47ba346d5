// Implements the arithmetic and the order of CEL. An overflow, a division by zero and operands of the wrong types are
// undecided. There is one addition to CEL: a number of the input and an integer are computed as doubles.
import { builtLengthMax, type Site } from './environment.ts';
import { compareNumbers, compareTexts } from './equality.ts';
import { Bytes, Duration, intMax, intMin, isList, isNumeric, Timestamp, Uint, Undecided, uintMax } from './values.ts';

export type Operator = 'add' | 'sub' | 'mul' | 'div' | 'mod';

/** `mixes`: one of the operands comes from the input, so that a double and an int may be combined. */
export function compute(operator: Operator, a: unknown, b: unknown, mixes: boolean, site: Site): unknown {
  if (typeof a === 'number' && typeof b === 'number') return ofDoubles(operator, a, b, site);
  if (typeof a === 'bigint' && typeof b === 'bigint') return ofInts(operator, a, b, site);
  if (a instanceof Uint && b instanceof Uint) return ofUints(operator, a.value, b.value, site);
  if (mixes && typeof a === 'number' && typeof b === 'bigint') return ofMixed(operator, a, Number(b), site);
  if (mixes && typeof a === 'bigint' && typeof b === 'number') return ofMixed(operator, Number(a), b, site);
  if (operator === 'add') return added(a, b, site);
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

/** A result that doubles cannot hold exactly is undecided: an integer was meant. */
function ofMixed(operator: Operator, a: number, b: number, site: Site): unknown {
  if ((operator === 'div' || operator === 'mod') && b === 0) return site.unclear;
  const result = operator === 'mod' ? a % b : Number(ofDoubles(operator, a, b, site));
  return Math.abs(result) <= Number.MAX_SAFE_INTEGER ? result : site.rounded;
}

function ofInts(operator: Operator, a: bigint, b: bigint, site: Site): unknown {
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

function added(a: unknown, b: unknown, site: Site): unknown {
  if (typeof a === 'string' && typeof b === 'string') return a.length + b.length > builtLengthMax ? site.budget : a + b;
  if (isList(a) && isList(b)) return a.length + b.length > builtLengthMax ? site.budget : [...a, ...b];
  if (a instanceof Bytes && b instanceof Bytes)
    return a.data.length + b.data.length > builtLengthMax ? site.budget : new Bytes(Buffer.concat([a.data, b.data]));
  if (a instanceof Timestamp && b instanceof Duration) return timestampOrUnclear(a.ns + b.ns, site);
  if (a instanceof Duration && b instanceof Timestamp) return timestampOrUnclear(a.ns + b.ns, site);
  return a instanceof Duration && b instanceof Duration ? durationOrUnclear(a.ns + b.ns, site) : site.type;
}

function subtracted(a: unknown, b: unknown, site: Site): unknown {
  if (a instanceof Timestamp && b instanceof Timestamp) return durationOrUnclear(a.ns - b.ns, site);
  if (a instanceof Timestamp && b instanceof Duration) return timestampOrUnclear(a.ns - b.ns, site);
  return a instanceof Duration && b instanceof Duration ? durationOrUnclear(a.ns - b.ns, site) : site.type;
}

export const secondNs = 1_000_000_000n;
/** 0001-01-01T00:00:00Z. */
export const timestampMinNs = -62_135_596_800n * secondNs;
/** 9999-12-31T23:59:59.999999999Z. */
export const timestampMaxNs = 253_402_300_800n * secondNs - 1n;
const durationMaxNs = 315_576_000_000n * secondNs;

export const timestampOrUnclear = (ns: bigint, site: Site): Timestamp | Undecided =>
  ns < timestampMinNs || ns > timestampMaxNs ? site.unclear : new Timestamp(ns);

export const durationOrUnclear = (ns: bigint, site: Site): Duration | Undecided =>
  ns < -durationMaxNs || ns > durationMaxNs ? site.unclear : new Duration(ns);

export function negated(value: unknown, site: Site): unknown {
  if (typeof value === 'number') return -value;
  if (typeof value === 'bigint') return value === intMin ? site.unclear : -value;
  return site.type;
}

/** Returns a negative number, zero, a positive number, or `NaN` if one of two numbers is not a number. */
export function order(a: unknown, b: unknown, site: Site): number | Undecided {
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareTexts(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Bytes && b instanceof Bytes) return Buffer.compare(a.data, b.data);
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration))
    return a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0;
  return site.type;
}

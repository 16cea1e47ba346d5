// Conversions between types. A text is converted only if it is written exactly as CEL's own literals are.
import { durationOrUnclear, secondNs, timestampOrUnclear } from '../arithmetic.ts';
import { type Environment, Site, spend, textSteps } from '../environment.ts';
import { Bytes, Duration, intMax, intMin, Timestamp, TypeValue, typeNameOf, Uint, Undecided, uintMax } from '../values.ts';
import { type CelFunction, quoted } from './function.ts';
import { durationText, parseDuration, parseTimestamp, timestampText } from './time.ts';

const conversion = (convert: (value: unknown, site: Site, env: Environment) => unknown): CelFunction => ({
  arity: [1, 1],
  apply: ([value], env, site) => convert(value, site, env),
});

/** A conversion that is made when the condition is written, if its operand is a text in quotes. */
function ofLiteral(convert: (value: unknown, site: Site) => unknown, example: string): CelFunction {
  const prepare: CelFunction['prepare'] = ([text]) => {
    if (text === undefined) return undefined;
    const value = convert(text, new Site(''));
    return value instanceof Undecided ? `${quoted(text)}, and needs a text such as ${example}` : () => value;
  };
  return { ...conversion(convert), prepare };
}

const within = (value: bigint, min: bigint, max: bigint): bigint | null => (value < min || value > max ? null : value);

// Longer texts are outside of the range, and converting them would take long.
const wholeNumber = /^[+-]?\d{1,40}$/;

function integerOf(value: unknown, min: bigint, max: bigint, site: Site): bigint | Undecided {
  if (typeof value === 'bigint') return within(value, min, max) ?? site.unclear;
  if (value instanceof Uint) return within(value.value, min, max) ?? site.unclear;
  if (typeof value === 'number') return integerOfDouble(value, min, max) ?? site.unclear;
  if (typeof value !== 'string') return site.type;
  const isUnsigned = min === 0n;
  if (!wholeNumber.test(value) || (isUnsigned && !/^\d/.test(value))) return site.unclear;
  return within(BigInt(value), min, max) ?? site.unclear;
}

function integerOfDouble(value: number, min: bigint, max: bigint): bigint | null {
  // The double next to the largest integer is too large, and that of the smallest one may stand for a smaller one.
  if (!Number.isFinite(value) || value >= Number(max) || (min === 0n ? value < 0 : value <= Number(min))) return null;
  return BigInt(Math.trunc(value));
}

function toInt(value: unknown, site: Site): unknown {
  return value instanceof Timestamp ? floorSeconds(value.ns) : integerOf(value, intMin, intMax, site);
}

const floorSeconds = (ns: bigint): bigint => (ns < 0n && ns % secondNs !== 0n ? ns / secondNs - 1n : ns / secondNs);

function toUint(value: unknown, site: Site): unknown {
  const whole = integerOf(value, 0n, uintMax, site);
  return typeof whole === 'bigint' ? new Uint(whole) : whole;
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const decimalLengthMax = 400;
const named: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity,
  '+Infinity': Infinity,
  '-Infinity': -Infinity,
  Inf: Infinity,
  '+Inf': Infinity,
  '-Inf': -Infinity,
};

function toDouble(value: unknown, site: Site): unknown {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return site.type;
  if (Object.hasOwn(named, value)) return named[value];
  if (value.length > decimalLengthMax || !decimal.test(value)) return site.unclear;
  const double = Number(value);
  return Number.isFinite(double) ? double : site.unclear;
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function toBool(value: unknown, site: Site): unknown {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return site.type;
  return trueTexts.has(value) ? true : falseTexts.has(value) ? false : site.unclear;
}

// Made once, and it keeps no state between texts.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function toText(value: unknown, site: Site, env: Environment): unknown {
  switch (typeof value) {
    case 'string':
      return value;
    case 'boolean':
    case 'bigint':
    case 'number':
      return String(value);
    default:
      break;
  }
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Timestamp) return timestampText(value.ns);
  if (value instanceof Duration) return durationText(value.ns);
  if (!(value instanceof Bytes)) return site.type;
  if (!spend(env, textSteps(value.data.length))) return site.budget;
  try {
    return utf8.decode(value.data);
  } catch {
    return site.unclear;
  }
}

function toBytes(value: unknown, site: Site, env: Environment): unknown {
  if (value instanceof Bytes) return value;
  if (typeof value !== 'string') return site.type;
  return spend(env, textSteps(value.length)) ? new Bytes(Buffer.from(value, 'utf8')) : site.budget;
}

function toTimestamp(value: unknown, site: Site): unknown {
  if (value instanceof Timestamp) return value;
  if (typeof value === 'bigint') return timestampOrUnclear(value * secondNs, site);
  if (typeof value !== 'string') return site.type;
  const ns = parseTimestamp(value);
  return ns === null ? site.unclear : timestampOrUnclear(ns, site);
}

function toDuration(value: unknown, site: Site): unknown {
  if (value instanceof Duration) return value;
  if (typeof value !== 'string') return site.type;
  const ns = parseDuration(value);
  return ns === null ? site.unclear : durationOrUnclear(ns, site);
}

function typeOf(value: unknown, site: Site): unknown {
  const name = typeNameOf(value);
  return name === null ? site.type : new TypeValue(name);
}

export const conversions: Readonly<Record<string, CelFunction>> = {
  int: conversion(toInt),
  uint: conversion(toUint),
  double: conversion(toDouble),
  bool: conversion(toBool),
  string: conversion(toText),
  bytes: conversion(toBytes),
  timestamp: ofLiteral(toTimestamp, '"2026-01-31T08:00:00Z"'),
  duration: ofLiteral(toDuration, '"1h30m"'),
  type: conversion(typeOf),
  dyn: { ...conversion((value) => value), keepsInput: true },
};

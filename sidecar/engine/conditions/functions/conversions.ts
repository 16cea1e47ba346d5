// Conversions between types. A text is converted only if it is written exactly as CEL's own literals are.
import { durationOrUnclear, secondNs, timestampOrUnclear } from '../arithmetic.ts';
import type { Site } from '../environment.ts';
import { Bytes, Duration, intMax, intMin, Timestamp, TypeValue, typeNameOf, Uint, uintMax } from '../values.ts';
import type { CelFunction } from './function.ts';
import { durationText, parseDuration, parseTimestamp, timestampText } from './time.ts';

const conversion = (convert: (value: unknown, site: Site) => unknown): CelFunction => ({
  arity: [1, 1],
  apply: ([value], _env, site) => convert(value, site),
});

const within = (value: bigint, min: bigint, max: bigint): bigint | null => (value < min || value > max ? null : value);

// Longer texts are outside of the range, and converting them would take long.
const wholeNumber = /^[+-]?\d{1,40}$/;

function integerOf(value: unknown, min: bigint, max: bigint, site: Site): bigint | Site['type'] {
  if (typeof value === 'bigint') return within(value, min, max) ?? site.unclear;
  if (value instanceof Uint) return within(value.value, min, max) ?? site.unclear;
  if (typeof value === 'number') {
    // 2^63 itself is a double, so the ends of the range are left out.
    if (!Number.isFinite(value) || value <= Number(min) - (min === 0n ? 1 : 0) || value >= Number(max)) return site.unclear;
    return within(BigInt(Math.trunc(value)), min, max) ?? site.unclear;
  }
  if (typeof value === 'string') return wholeNumber.test(value) ? (within(BigInt(value), min, max) ?? site.unclear) : site.unclear;
  return site.type;
}

function toInt(value: unknown, site: Site): unknown {
  if (value instanceof Timestamp) return floorSeconds(value.ns);
  if (value instanceof Duration) return value.ns / secondNs;
  return integerOf(value, intMin, intMax, site);
}

const floorSeconds = (ns: bigint): bigint => (ns < 0n && ns % secondNs !== 0n ? ns / secondNs - 1n : ns / secondNs);

function toUint(value: unknown, site: Site): unknown {
  const whole = integerOf(value, 0n, uintMax, site);
  return typeof whole === 'bigint' ? new Uint(whole) : whole;
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const named: Readonly<Record<string, number>> = { NaN: Number.NaN, Infinity: Infinity, '+Infinity': Infinity, '-Infinity': -Infinity, Inf: Infinity, '+Inf': Infinity, '-Inf': -Infinity };

function toDouble(value: unknown, site: Site): unknown {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return site.type;
  if (Object.hasOwn(named, value)) return named[value];
  return value.length <= 400 && decimal.test(value) ? Number(value) : site.unclear;
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function toBool(value: unknown, site: Site): unknown {
  if (typeof value === 'boolean') return value;
  if (typeof value !== 'string') return site.type;
  return trueTexts.has(value) ? true : falseTexts.has(value) ? false : site.unclear;
}

function toText(value: unknown, site: Site): unknown {
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
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value.data);
  } catch {
    return site.unclear;
  }
}

function toBytes(value: unknown, site: Site): unknown {
  if (value instanceof Bytes) return value;
  return typeof value === 'string' ? new Bytes(Buffer.from(value, 'utf8')) : site.type;
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
  if (typeof value === 'bigint') return durationOrUnclear(value * secondNs, site);
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
  timestamp: conversion(toTimestamp),
  duration: conversion(toDuration),
  type: conversion(typeOf),
  dyn: { ...conversion((value) => value), keepsInput: true },
};

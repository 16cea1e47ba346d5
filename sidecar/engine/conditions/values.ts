// Defines the values that conditions compute with. A JSON value represents itself: null, booleans, texts, numbers (a
// double of CEL), arrays and objects. An int of CEL is a bigint. Every other type has a class here that extends
// `OwnValue`. Bytes have a class too, so that a Buffer in the input of a library call is not mistaken for a value that a
// condition may read.

/**
 * Why a condition cannot be evaluated. `absent`: a key or an index does not exist. `type`: a value has a type that the
 * operator does not take. `rounded`: a number lost digits when it was read. `hidden`: this door does not show the value.
 * `budget`: evaluating it would take more steps or memory than a condition may. `unclear`: a function cannot answer for
 * this value, for example `path()` of a relative path, or a division by zero.
 */
export const undecidedReasons = ['absent', 'type', 'rounded', 'hidden', 'budget', 'unclear'] as const;
export type UndecidedReason = (typeof undecidedReasons)[number];

/** The third value of a condition, besides true and false. It names the part that could not be evaluated, never a value. */
export class Undecided {
  readonly reason: UndecidedReason;
  /** The part of the condition, for example `args.amount`. */
  readonly path: string;

  constructor(reason: UndecidedReason, path: string) {
    this.reason = reason;
    this.path = path;
  }
}

/** A value of a type that JSON does not have. */
export abstract class OwnValue {
  abstract readonly typeName: string;
  /** `other` has the same `typeName`. */
  abstract equals(other: OwnValue): boolean | Undecided;
  /** Returns the value of `value.<name>`. Undefined: the type does not have the field. */
  field(_name: string): unknown {
    return undefined;
  }
}

/** An unsigned integer of CEL, from 0 to 2^64 - 1. */
export class Uint extends OwnValue {
  readonly typeName = 'uint';
  readonly value: bigint;
  constructor(value: bigint) {
    super();
    this.value = value;
  }
  equals(other: Uint): boolean {
    return this.value === other.value;
  }
}

export class Bytes extends OwnValue {
  readonly typeName = 'bytes';
  readonly data: Uint8Array;
  constructor(data: Uint8Array) {
    super();
    this.data = data;
  }
  equals(other: Bytes): boolean {
    return Buffer.compare(this.data, other.data) === 0;
  }
}

/** A point in time, in nanoseconds since 1970. */
export class Timestamp extends OwnValue {
  readonly typeName = 'google.protobuf.Timestamp';
  readonly ns: bigint;
  constructor(ns: bigint) {
    super();
    this.ns = ns;
  }
  equals(other: Timestamp): boolean {
    return this.ns === other.ns;
  }
}

/** A length of time, in nanoseconds. */
export class Duration extends OwnValue {
  readonly typeName = 'google.protobuf.Duration';
  readonly ns: bigint;
  constructor(ns: bigint) {
    super();
    this.ns = ns;
  }
  equals(other: Duration): boolean {
    return this.ns === other.ns;
  }
}

/** The result of `type(x)`, and names of types such as `string`. */
export class TypeValue extends OwnValue {
  readonly typeName = 'type';
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
  equals(other: TypeValue): boolean {
    return this.name === other.name;
  }
}

/** A key of a map literal. `1`, `1u` and `1.0` are the same key. */
export type MapKey = boolean | string | bigint;

/** A map literal. Objects of the input are not copied into one: they are read by their own keys. */
export class MapValue extends OwnValue {
  readonly typeName = 'map';
  readonly entries: ReadonlyMap<MapKey, { readonly key: unknown; readonly value: unknown }>;
  constructor(entries: MapValue['entries']) {
    super();
    this.entries = entries;
  }
  /** `equality.ts` compares maps. */
  equals(other: MapValue): boolean {
    return this === other;
  }
}

/** An object of the input, or one that we made for a variable. Only its own keys are read. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

export const isNumeric = (value: unknown): value is number | bigint | Uint =>
  typeof value === 'number' || typeof value === 'bigint' || value instanceof Uint;

/** Returns the CEL name of the value's type. Null: conditions do not know such a value, for example a Buffer. */
export function typeNameOf(value: unknown): string | null {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'string':
      return 'string';
    case 'number':
      return 'double';
    case 'bigint':
      return 'int';
    case 'object':
      if (value === null) return 'null_type';
      if (Array.isArray(value)) return 'list';
      return value instanceof OwnValue ? value.typeName : isJsonObject(value) ? 'map' : null;
    default:
      return null;
  }
}

export const intMin = -(2n ** 63n);
export const intMax = 2n ** 63n - 1n;
export const uintMax = 2n ** 64n - 1n;

/** Returns the key of a map for a value. Null: a value of this type cannot be a key, or no key is equal to it. */
export function mapKeyOf(value: unknown): MapKey | null {
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : null;
}

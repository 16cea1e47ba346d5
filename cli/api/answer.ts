// Reads the answer of a control plane. The server may be older, newer, or not a control plane. An unexpected answer
// throws a Failure that names the field.
import { Failure } from '../failure.ts';

export type Row = Readonly<Record<string, unknown>>;

export const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the objects of a list in an answer. */
export function rowsIn(row: Row, name: string): readonly Row[] {
  const list = row[name];
  if (!Array.isArray(list) || !list.every(isRow)) throw unexpected(name, 'a list');
  return list;
}

export function rowIn(row: Row, name: string): Row {
  const value = row[name];
  if (!isRow(value)) throw unexpected(name, 'an object');
  return value;
}

export function textIn(row: Row, name: string): string {
  const value = row[name];
  if (typeof value !== 'string') throw unexpected(name, 'a text');
  return value;
}

export function numberIn(row: Row, name: string): number {
  const value = row[name];
  if (typeof value !== 'number') throw unexpected(name, 'a number');
  return value;
}

/** Returns the row without undefined fields, so that they are not sent. */
export const given = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined));

const unexpected = (name: string, what: string): Failure =>
  new Failure(
    `the answer of the control plane must have the field "${name}" with ${what}, but it has no such field; the control plane and this tollgate command may have different versions`,
  );

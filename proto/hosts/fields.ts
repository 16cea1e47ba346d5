// Reads fields from what hosts send, by name. Each field may be missing.
import type { Tier } from '../contract/index.ts';
import type { HostEvent, ParseText } from './host.ts';

export type Fields = ReadonlyMap<string, unknown>;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Own fields only, whatever their names. */
export const fieldsOf = (value: unknown): Fields => new Map(isObject(value) ? Object.entries(value) : []);

export const textIn = (fields: Fields, ...names: readonly string[]): string | null => {
  for (const name of names) {
    const value = fields.get(name);
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
};

/** The first of these fields that exists. */
export const valueIn = (fields: Fields, ...names: readonly string[]): unknown => {
  const name = names.find((one) => fields.get(one) !== undefined);
  return name === undefined ? undefined : fields.get(name);
};

export const unreadable = (after: boolean, problem: string): HostEvent => ({ phase: 'unreadable', after, problem });

/** Some hosts write an argument list as JSON in a text. */
export function parsedText(value: unknown, parse: ParseText): unknown {
  if (typeof value !== 'string') return value;
  const parsed = parse(value);
  return typeof parsed === 'object' && parsed !== null ? parsed : value;
}

/** The tier that follows from the mode. */
export function tierOf(fields: Fields): Tier {
  if (fields.get('permission_mode') === 'bypassPermissions') return 'background';
  return fields.get('agent_id') == null ? 'interactive' : 'subagent';
}

export const sameSort = (a: unknown, b: unknown): boolean =>
  typeof a === typeof b && Array.isArray(a) === Array.isArray(b) && (a === null) === (b === null);

/** Reads an answer that may not be JSON. */
export function answerFields(answer: string): Fields {
  try {
    return fieldsOf(JSON.parse(answer));
  } catch {
    return new Map();
  }
}

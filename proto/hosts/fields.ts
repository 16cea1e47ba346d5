// Reads fields by name from the input of hosts. Each field may be missing.
import type { Tier } from '../contract/index.ts';
import type { HostEvent, ParseText } from './host.ts';

export type Fields = ReadonlyMap<string, unknown>;

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value's own fields, whatever their names are. Empty if the value is not an object. */
export const fieldsOf = (value: unknown): Fields => new Map(isObject(value) ? Object.entries(value) : []);

export const textIn = (fields: Fields, ...names: readonly string[]): string | null => {
  for (const name of names) {
    const value = fields.get(name);
    if (typeof value === 'string' && value !== '') return value;
  }
  return null;
};

/** Returns the value of the first of these fields that exists. */
export const valueIn = (fields: Fields, ...names: readonly string[]): unknown => {
  const name = names.find((one) => fields.get(one) !== undefined);
  return name === undefined ? undefined : fields.get(name);
};

export const unreadable = (after: boolean, problem: string): HostEvent => ({ phase: 'unreadable', after, problem });

/**
 * Parses a text that contains arguments as JSON, because some hosts send them in this form. Returns any other value
 * unchanged.
 */
export function parsedText(value: unknown, parse: ParseText): unknown {
  if (typeof value !== 'string') return value;
  const parsed = parse(value);
  return typeof parsed === 'object' && parsed !== null ? parsed : value;
}

/**
 * Returns the tier of a call. The permission mode `bypassPermissions` gives `background`. In any other mode, the tier
 * depends on whether a sub-agent makes the call.
 */
export function tierOf(fields: Fields): Tier {
  if (fields.get('permission_mode') === 'bypassPermissions') return 'background';
  return fields.get('agent_id') == null ? 'interactive' : 'subagent';
}

export const sameSort = (a: unknown, b: unknown): boolean =>
  typeof a === typeof b && Array.isArray(a) === Array.isArray(b) && (a === null) === (b === null);

/** Returns the fields of an answer. Empty if the answer is not JSON. */
export function answerFields(answer: string): Fields {
  try {
    return fieldsOf(JSON.parse(answer));
  } catch {
    return new Map();
  }
}

// Knows the types of conditions as far as they can be known without an input. It finds mistakes when a policy is
// written: a field that a variable does not have, or a comparison that can never hold.
import type { Expression } from '@tollgate/proto/contract';

/** `dyn`: the type is not known, as that of everything in `args`. */
export type ConditionType =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'list'
  | 'map'
  | 'timestamp'
  | 'duration'
  | 'null'
  | 'type'
  | 'path'
  | 'url'
  | 'ip'
  | 'cidr'
  | 'dyn';

/** The fields of variables and of values. A type that is not listed has no fields. `args` and maps may have any field. */
export const fieldsOf: Readonly<Record<string, Readonly<Record<string, ConditionType>>>> = {
  tool: { name: 'string', server: 'string', annotations: 'map' },
  'tool.annotations': { readOnlyHint: 'bool', destructiveHint: 'bool', openWorldHint: 'bool', idempotentHint: 'bool' },
  agent: { name: 'string', id: 'string', client: 'string', tier: 'string', type: 'string', scopes: 'list', chain: 'list' },
  user: { uid: 'string', role: 'string', groups: 'list' },
  url: { scheme: 'string', host: 'string', port: 'int', path: 'string' },
};

export const variableTypes: Readonly<Record<string, ConditionType>> = {
  args: 'dyn',
  tool: 'map',
  agent: 'map',
  user: 'map',
  now: 'timestamp',
};

/** How a function is called, the types of its operands and of its result. */
export interface Signature {
  readonly form: 'function' | 'method' | 'both';
  /** For each operand, the types that it takes. The object of a method is the first operand. */
  readonly operands: readonly (readonly ConditionType[])[];
  /** Operands from this one on may be left out. Absent: all are needed. */
  readonly optionalFrom?: number;
  readonly result: ConditionType;
}

const text: readonly ConditionType[] = ['string'];
const whole: readonly ConditionType[] = ['int'];
const any: readonly ConditionType[] = ['dyn'];
const method = (result: ConditionType, ...operands: readonly (readonly ConditionType[])[]): Signature => ({
  form: 'method',
  operands,
  result,
});
const global = (result: ConditionType, ...operands: readonly (readonly ConditionType[])[]): Signature => ({
  form: 'function',
  operands,
  result,
});
const timeField: Signature = { form: 'method', operands: [['timestamp', 'duration'], text], optionalFrom: 1, result: 'int' };

export const signatures: Readonly<Record<string, Signature>> = {
  size: { form: 'both', operands: [['string', 'bytes', 'list', 'map']], result: 'int' },
  matches: { form: 'both', operands: [text, text], result: 'bool' },
  contains: method('bool', text, text),
  startsWith: method('bool', text, text),
  endsWith: method('bool', text, text),
  charAt: method('string', text, whole),
  substring: { ...method('string', text, whole, whole), optionalFrom: 2 },
  replace: { ...method('string', text, text, text, whole), optionalFrom: 3 },
  split: { ...method('list', text, text, whole), optionalFrom: 2 },
  join: { ...method('string', ['list'], text), optionalFrom: 1 },
  format: method('string', text, ['list']),
  indexOf: { ...method('int', text, text, whole), optionalFrom: 2 },
  lastIndexOf: { ...method('int', text, text, whole), optionalFrom: 2 },
  lowerAscii: method('string', text),
  upperAscii: method('string', text),
  trim: method('string', text),
  reverse: method('string', text),
  'strings.quote': global('string', text),
  int: global('int', ['int', 'uint', 'double', 'string', 'timestamp']),
  uint: global('uint', ['int', 'uint', 'double', 'string']),
  double: global('double', ['int', 'uint', 'double', 'string']),
  bool: global('bool', ['bool', 'string']),
  string: global('string', ['string', 'bool', 'int', 'uint', 'double', 'bytes', 'timestamp', 'duration']),
  bytes: global('bytes', ['bytes', 'string']),
  timestamp: global('timestamp', ['timestamp', 'string', 'int']),
  duration: global('duration', ['duration', 'string']),
  type: global('type', any),
  dyn: global('dyn', any),
  getFullYear: { ...timeField, operands: [['timestamp'], text] },
  getMonth: { ...timeField, operands: [['timestamp'], text] },
  getDate: { ...timeField, operands: [['timestamp'], text] },
  getDayOfMonth: { ...timeField, operands: [['timestamp'], text] },
  getDayOfWeek: { ...timeField, operands: [['timestamp'], text] },
  getDayOfYear: { ...timeField, operands: [['timestamp'], text] },
  getHours: timeField,
  getMinutes: timeField,
  getSeconds: timeField,
  getMilliseconds: timeField,
  path: global('path', ['string', 'path']),
  within: method('bool', ['path'], text),
  url: global('url', text),
  domain: global('string', text),
  ip: global('ip', ['string', 'ip']),
  cidr: global('cidr', ['string', 'cidr']),
  containsIP: method('bool', ['cidr'], ['string', 'ip']),
  shell: { ...global('list', text, ['list']), optionalFrom: 1 },
};

const ofLiteral: Readonly<Record<string, ConditionType>> = {
  null: 'null',
  bool: 'bool',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  type: 'type',
  list: 'list',
  map: 'map',
  has: 'bool',
};

export const literalType = (kind: Expression[0]): ConditionType => ofLiteral[kind] ?? 'dyn';

const numbers = new Set<ConditionType>(['int', 'uint', 'double']);
const ordered = new Set<ConditionType>([...numbers, 'string', 'bool', 'bytes', 'timestamp', 'duration']);
const isDyn = (type: ConditionType): boolean => type === 'dyn';

/** Returns the type of an operator's result. Returns a text if its operands have types that it does not take. */
export function operatorType(name: string, types: readonly ConditionType[]): { readonly type: ConditionType } | string {
  const [a = 'dyn', b = 'dyn', c = 'dyn'] = types;
  const bools = (...operands: readonly ConditionType[]): { readonly type: ConditionType } | string =>
    operands.every((type) => isDyn(type) || type === 'bool') ? { type: 'bool' } : `takes true or false, not ${operands.join(' and ')}`;
  switch (name) {
    case 'and':
    case 'or':
      return bools(a, b);
    case 'not':
      return bools(a);
    case 'if':
      return isDyn(a) || a === 'bool' ? { type: b === c ? b : 'dyn' } : `takes true or false before "?", not ${a}`;
    case 'eq':
    case 'ne':
      return areComparable(a, b) ? { type: 'bool' } : `compares ${a} with ${b}, which are never equal`;
    case 'lt':
    case 'le':
    case 'gt':
    case 'ge':
      return areOrdered(a, b) ? { type: 'bool' } : `cannot order ${a} and ${b}`;
    case 'in':
      return isDyn(b) || b === 'list' || b === 'map' ? { type: 'bool' } : `searches in ${b}, and only lists and maps have elements`;
    case 'index':
      return isDyn(a) || a === 'list' || a === 'map' ? { type: 'dyn' } : `reads an element of ${a}, and only lists and maps have elements`;
    case 'neg':
      return isDyn(a) || a === 'int' || a === 'double' ? { type: a } : `cannot negate ${a}`;
    default:
      return arithmeticType(name, a, b);
  }
}

const areComparable = (a: ConditionType, b: ConditionType): boolean =>
  isDyn(a) || isDyn(b) || a === b || a === 'null' || b === 'null' || (numbers.has(a) && numbers.has(b));

const areOrdered = (a: ConditionType, b: ConditionType): boolean =>
  (isDyn(a) || ordered.has(a)) && (isDyn(b) || ordered.has(b)) && (isDyn(a) || isDyn(b) || a === b || (numbers.has(a) && numbers.has(b)));

const sums = new Set<ConditionType>(['string', 'bytes', 'list']);

function arithmeticType(name: string, a: ConditionType, b: ConditionType): { readonly type: ConditionType } | string {
  const problem = `cannot compute ${a} and ${b}`;
  if (isDyn(a) || isDyn(b)) return { type: 'dyn' };
  if (numbers.has(a) && a === b) return name === 'mod' && a === 'double' ? problem : { type: a };
  if (name === 'add' && a === b && sums.has(a)) return { type: a };
  if (name === 'add' && ((a === 'timestamp' && b === 'duration') || (a === 'duration' && b === 'timestamp'))) return { type: 'timestamp' };
  if (name === 'sub' && a === 'timestamp' && b === 'timestamp') return { type: 'duration' };
  if (name === 'sub' && a === 'timestamp' && b === 'duration') return { type: 'timestamp' };
  return (name === 'add' || name === 'sub') && a === 'duration' && b === 'duration' ? { type: 'duration' } : problem;
}

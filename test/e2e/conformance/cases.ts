// Reads the cases of clients/conformance. An unknown field is an error, so that a typing mistake cannot make a case pass.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type ClientName = 'sidecar' | 'control-plane' | 'library' | 'python';

export interface CaseCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly agent?: string;
  readonly tier?: 'interactive' | 'subagent' | 'background' | 'api';
  readonly client?: string;
  readonly chain?: readonly string[];
  readonly tools?: readonly string[];
}

export interface CaseCost {
  readonly id: string;
  readonly cents: number;
  readonly agent: string;
  readonly least?: number;
}

interface Expected {
  readonly answer: unknown;
  /** Null: there is no entry in the session. */
  readonly entry: unknown;
}

export interface Step extends Partial<Expected> {
  readonly call?: CaseCall;
  readonly body?: string;
  readonly output?: unknown;
  readonly isError?: boolean;
  readonly person?: 'approve' | 'deny';
  readonly note?: string;
  readonly until?: string;
  readonly reserve?: CaseCost;
  readonly settle?: CaseCost;
  readonly except?: Readonly<Partial<Record<ClientName, Partial<Expected> & { readonly because: string }>>>;
}

export interface Case {
  readonly name: string;
  readonly about: string;
  readonly policy: {
    readonly workspace?: { readonly tools: Readonly<Record<string, unknown>> };
    readonly agentTypes?: Readonly<Record<string, unknown>>;
    readonly agents?: readonly { readonly name: string }[];
  };
  readonly world?: 'no policy';
  readonly steps: readonly Step[];
  readonly skip?: Readonly<Partial<Record<ClientName, string>>>;
}

export const folder = fileURLToPath(new URL('../../../clients/conformance/', import.meta.url));

export const cases: readonly Case[] = readdirSync(`${folder}cases`)
  .toSorted()
  .map((name) => JSON.parse(readFileSync(`${folder}cases/${name}`, 'utf8')) as Case);

/** Returns what a client is expected to answer, and its entry. */
export function expectedOf({ answer, entry, except }: Step, client: ClientName): Expected {
  const own = except?.[client] ?? {};
  return { answer: 'answer' in own ? own.answer : answer, entry: 'entry' in own ? own.entry : entry };
}

/** Says where a value differs from what is expected. An object may have more fields; `$contains` is a part of a text. */
export function differences(expected: unknown, actual: unknown, path: string): readonly string[] {
  const shown = `${path}: expected ${JSON.stringify(expected)}, is ${JSON.stringify(actual)}`;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return [shown];
    return expected.flatMap((item, at) => differences(item, actual[at], `${path}[${at}]`));
  }
  if (!isObject(expected)) return Object.is(expected, actual) ? [] : [shown];
  if (typeof expected['$contains'] === 'string') return typeof actual === 'string' && actual.includes(expected['$contains']) ? [] : [shown];
  if (!isObject(actual)) return [shown];
  return Object.entries(expected).flatMap(([name, value]) => differences(value, actual[name], `${path}.${name}`));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands for a value that JSON does not have, or that would make a file long. */
const special: Readonly<
  Record<
    string,
    {
      readonly value: (of: Readonly<Record<string, unknown>>) => unknown;
      readonly json?: (of: Readonly<Record<string, unknown>>) => string;
    }
  >
> = {
  nan: { value: () => Number.NaN, json: () => 'NaN' },
  infinity: { value: () => Number.POSITIVE_INFINITY, json: () => 'Infinity' },
  surrogate: { value: () => '\ud800', json: () => String.raw`"\ud800"` },
  integer: { value: ({ digits }) => Number(digits), json: ({ digits }) => String(digits) },
  text: { value: ({ length }) => 'x'.repeat(Number(length)) },
  levels: { value: ({ count }) => Array.from({ length: Number(count) }).reduce((inner) => [inner], 0) },
};

const specialOf = (value: Readonly<Record<string, unknown>>) => (typeof value['$'] === 'string' ? special[value['$']] : undefined);

/** Returns the value that a program would pass. */
export function valueOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(valueOf);
  if (!isObject(value)) return value;
  const found = specialOf(value);
  return found === undefined ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, valueOf(one)])) : found.value(value);
}

/** Returns the JSON text that a careless client would send. */
export function jsonOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const found = specialOf(value);
  if (found !== undefined) return found.json?.(value) ?? JSON.stringify(found.value(value));
  return `{${Object.entries(value)
    .map(([name, one]) => `${JSON.stringify(name)}:${jsonOf(one)}`)
    .join(',')}}`;
}

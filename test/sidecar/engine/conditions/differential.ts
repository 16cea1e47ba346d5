// Compares the evaluator of conditions with `@bufbuild/cel`. Both results become texts in which types differ, so that 1
// and 1.0 are not the same.
import {
  celEnv,
  celList,
  celMap,
  type CelInput,
  type CelMap,
  isCelError,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse,
  plan,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { readExpression } from '../../../../sidecar/engine/compile/condition.ts';
import { buildExpression } from '../../../../sidecar/engine/conditions/build.ts';
import {
  Bytes,
  isJsonObject,
  isList,
  MapValue,
  OwnValue,
  TypeValue,
  Uint,
  Undecided,
} from '../../../../sidecar/engine/conditions/values.ts';
import type { GeneratedCase } from './generate.ts';

/** What an evaluator says of one case: a value as a text, or `error`. */
export type Said = string;

interface Ours {
  /** As CEL has it. */
  readonly plain: Said;
  /** With the two deviations, as conditions of a policy are evaluated. */
  readonly strict: Said;
}

/** Null: the expression is refused when it is written. */
export function oursOf({ expression, args }: GeneratedCase): Ours | null {
  const read = readExpression(expression, { args: 'dyn' });
  if ('problem' in read) return null;
  const evaluate = (fromInput: boolean): Said =>
    ownText(
      buildExpression(read.expression, new Map([['args', fromInput]])).evaluate({
        variables: { args },
        steps: 0,
        slots: [],
      }),
    );
  return { plain: evaluate(false), strict: evaluate(true) };
}

const bits = new DataView(new ArrayBuffer(8));

function doubleText(value: number): string {
  bits.setFloat64(0, Number.isNaN(value) ? Number.NaN : value);
  return `double ${bits.getBigUint64(0).toString(16)}`;
}

const mapText = (entries: readonly (readonly [key: string, value: string])[]): string =>
  `{${entries
    .map(([key, value]) => `${key}: ${value}`)
    .toSorted()
    .join(', ')}}`;

function scalarText(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'boolean':
      return String(value);
    case 'number':
      return doubleText(value);
    case 'bigint':
      return `int ${value}`;
    default:
      return value === null ? 'null' : null;
  }
}

function ownText(value: unknown): Said {
  if (value instanceof Undecided) return 'error';
  const scalar = scalarText(value);
  if (scalar !== null) return scalar;
  if (isList(value)) return `[${value.map(ownText).join(', ')}]`;
  if (value instanceof MapValue) return mapText([...value.entries.values()].map((entry) => [ownText(entry.key), ownText(entry.value)]));
  if (isJsonObject(value)) return mapText(Object.entries(value).map(([key, of]) => [ownText(key), ownText(of)]));
  if (value instanceof Uint) return `uint ${value.value}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  if (value instanceof Bytes) return `bytes ${Buffer.from(value.data).toString('hex')}`;
  return value instanceof OwnValue ? value.typeName : 'unknown';
}

/** The library takes null for absent in maps, and objects with some keys for messages. */
function wrapped(value: unknown): CelInput {
  if (isList(value)) return celList(value.map(wrapped));
  if (!isJsonObject(value)) return value as CelInput;
  const map = new Map(Object.entries(value).map(([key, of]) => [key, wrapped(of)]));
  const result = celMap(map) as { -readonly [Name in keyof CelMap]: CelMap[Name] };
  result.has = (key) => typeof key === 'string' && map.has(key);
  return result;
}

/** What the library has not, or answers otherwise than CEL. */
const faults: readonly ((generated: GeneratedCase) => boolean)[] = [
  ({ expression }) => expression.includes('.reverse()'),
  // It makes NaN of texts that are no numbers.
  ({ expression }) => /(?:int|double)\((?:"|args)/.test(expression),
  // It refuses doubles for `%d`, as older versions of the extension do.
  ({ expression }) => expression.includes('%d'),
  ({ expression }) => expression.includes('-9223372036854775808 % -1'),
  // It takes true and false for positions in lists.
  ({ expression, args: { n } }) => expression.includes('[args.n]') && typeof n === 'boolean',
];

/** Whether the library can be asked about the case. */
export const isAnswerable = (generated: GeneratedCase): boolean => !faults.some((has) => has(generated));

const env = celEnv({ funcs: [...strings] });

export function libraryOf({ expression, args }: GeneratedCase): Said {
  try {
    const value: unknown = plan(env, parse(expression))({ args: wrapped(args) });
    return libraryText(value);
  } catch {
    return 'error';
  }
}

function libraryText(value: unknown): Said {
  if (isCelError(value)) return 'error';
  const scalar = scalarText(value);
  if (scalar !== null) return scalar;
  if (isCelList(value)) return `[${[...value].map(libraryText).join(', ')}]`;
  if (isCelMap(value)) return mapText([...value].map(([key, of]) => [libraryText(key), libraryText(of)]));
  if (isCelUint(value)) return `uint ${value.value}`;
  if (isCelType(value)) return `type ${value.name}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  return isReflectMessage(value) ? value.desc.typeName : 'unknown';
}

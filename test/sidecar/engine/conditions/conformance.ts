// Runs the conformance cases of the CEL project through the reader and the evaluator of conditions, and makes the table
// of docs/reference/conditions.md. Each case has an expression, values of variables, and the value that is due.
import { createRegistry } from '@bufbuild/protobuf';
import { type Any, anyUnpack, DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js';
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { getConformanceSuite, type IncrementalTestSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { readExpression } from '../../../../sidecar/engine/compile/condition.ts';
import type { ConditionType } from '../../../../sidecar/engine/compile/condition-types.ts';
import { buildExpression } from '../../../../sidecar/engine/conditions/build.ts';
import {
  Bytes,
  Duration,
  isList,
  type MapKey,
  mapKeyOf,
  MapValue,
  Timestamp,
  TypeValue,
  Uint,
  Undecided,
} from '../../../../sidecar/engine/conditions/values.ts';

/**
 * `wrong`: another value than the one that is due, or a value where an error is due. `refused`: a value is due, and the
 * expression is refused when it is written. `undecided`: a value is due, and there is none. `left`: the case cannot be
 * put to conditions.
 */
type Outcome = 'pass' | 'wrong' | 'refused' | 'undecided' | 'left';

interface CaseResult {
  readonly outcome: Outcome;
  readonly expression: string;
  /** Why the case did not pass. */
  readonly why: string;
}

interface FileResults {
  readonly file: string;
  readonly results: readonly CaseResult[];
}

export function runConformance(): readonly FileResults[] {
  return getConformanceSuite().suites.map((suite) => ({ file: suite.name, results: casesOf(suite).map(runCase) }));
}

const casesOf = ({ suites, tests }: IncrementalTestSuite): readonly SimpleTest[] => [
  ...tests.map(({ original }) => original),
  ...suites.flatMap(casesOf),
];

function runCase(test: SimpleTest): CaseResult {
  const result = (outcome: Outcome, why = ''): CaseResult => ({ outcome, expression: test.expr, why });
  if (test.checkOnly || test.disableMacros) return result('left', 'only type-checked, or parsed without macros');
  if (test.resultMatcher.case === 'unknown' || test.resultMatcher.case === 'anyUnknowns') return result('left', 'unknown values');
  const wantsError = test.resultMatcher.case === 'evalError' || test.resultMatcher.case === 'anyEvalErrors';
  const bound = Object.entries(test.bindings).map(([name, { kind }]) => [name, kind.case === 'value' ? kind.value : undefined] as const);
  const declared = test.typeEnv.flatMap(({ name, declKind }) => (declKind.case === 'ident' ? [name] : []));
  const names = [...new Set([...bound.map(([name]) => name), ...declared])];
  const read = readExpression(test.expr, Object.fromEntries(names.map((name): [string, ConditionType] => [name, 'dyn'])));
  if ('problem' in read) return wantsError ? result('pass') : result('refused', read.problem.message);
  if (test.container !== '') return result('left', 'names with a namespace');
  const variables: Record<string, unknown> = {};
  for (const [name, value] of bound) {
    const own = value === undefined ? undefined : valueOf(value);
    if (own === undefined) return result('left', 'values that are messages of Protobuf');
    variables[name] = own;
  }
  const part = buildExpression(read.expression, new Map(names.map((name) => [name, false])));
  const value = part.evaluate({ variables, steps: 0, slots: [] });
  if (value instanceof Undecided) return wantsError ? result('pass') : result('undecided', `${value.reason}: ${value.path}`);
  if (wantsError) return result('wrong', `is ${shown(value)}, and an error is due`);
  const due = dueValue(test);
  if (due === undefined) return result('left', 'values that are messages of Protobuf');
  return isSame(value, due) ? result('pass') : result('wrong', `is ${shown(value)}, and ${shown(due)} is due`);
}

const shown = (value: unknown): string =>
  JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? `${one}` : one instanceof MapValue ? [...one.entries.values()] : one,
  );

/** Undefined: the value is a message. */
function dueValue({ resultMatcher }: SimpleTest): unknown {
  switch (resultMatcher.case) {
    case 'value':
      return valueOf(resultMatcher.value);
    case 'typedResult':
      return resultMatcher.value.result === undefined ? undefined : valueOf(resultMatcher.value.result);
    default:
      return true;
  }
}

const knownMessages = createRegistry(DurationSchema, TimestampSchema);

/** Undefined: conditions have no such value. */
function valueOf({ kind }: Value): unknown {
  switch (kind.case) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
      return kind.value;
    case 'uint64Value':
      return new Uint(kind.value);
    case 'bytesValue':
      return new Bytes(kind.value);
    case 'typeValue':
      return new TypeValue(kind.value);
    case 'objectValue':
      return ofMessage(kind.value);
    case 'listValue': {
      const list = kind.value.values.map(valueOf);
      return list.includes(undefined) ? undefined : list;
    }
    case 'mapValue':
      return mapOf(kind.value.entries.map(({ key, value }) => [key && valueOf(key), value && valueOf(value)] as const));
    default:
      return undefined;
  }
}

function mapOf(pairs: readonly (readonly [key: unknown, value: unknown])[]): MapValue | undefined {
  const entries = new Map<MapKey, { readonly key: unknown; readonly value: unknown }>();
  for (const [key, value] of pairs) {
    const known = mapKeyOf(key);
    if (known === null || value === undefined) return undefined;
    entries.set(known, { key, value });
  }
  return new MapValue(entries);
}

function ofMessage(message: Any): Timestamp | Duration | undefined {
  const time = anyUnpack(message, knownMessages) as
    | { readonly $typeName: string; readonly seconds: bigint; readonly nanos: number }
    | undefined;
  if (time === undefined) return undefined;
  const ns = time.seconds * 1_000_000_000n + BigInt(time.nanos);
  return time.$typeName === TimestampSchema.typeName ? new Timestamp(ns) : new Duration(ns);
}

/** Compares values and their types. It shares nothing with the comparison of conditions. */
function isSame(a: unknown, b: unknown): boolean {
  if (isList(a) && isList(b)) return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  if (a instanceof MapValue && b instanceof MapValue) {
    if (a.entries.size !== b.entries.size) return false;
    return [...a.entries].every(([name, { key, value }]) => {
      const other = b.entries.get(name);
      return other !== undefined && isSame(key, other.key) && isSame(value, other.value);
    });
  }
  if (a instanceof Uint && b instanceof Uint) return a.value === b.value;
  if (a instanceof Bytes && b instanceof Bytes) return Buffer.from(a.data).equals(b.data);
  if (a instanceof TypeValue && b instanceof TypeValue) return a.name === b.name;
  if ((a instanceof Timestamp && b instanceof Timestamp) || (a instanceof Duration && b instanceof Duration)) return a.ns === b.ns;
  return Object.is(a, b) || (a === 0 && b === 0);
}

/** The reasons for which cases did not pass, in words. */
const reasons: readonly (readonly [message: RegExp, words: string])[] = [
  [/^makes a message|messages of Protobuf|^reads the field .* of (?:type|null)/, 'messages of Protobuf'],
  [/^there is no function|^has takes a field/, 'functions of other extensions'],
  [/^there is no variable/, 'names with a namespace'],
  [/optional values/, 'optional values'],
  [/backticks/, 'names in backticks'],
  [/control character/, 'control characters that are not escaped'],
  [/namespace/, 'names with a namespace'],
  [/is called as|two variables/, 'loops with two variables'],
  [/never equal/, 'comparisons that can never hold'],
  [/inside one another/, 'a loop inside a loop'],
  [/in quotes$/, 'a pattern or a zone that is no text in quotes'],
  [/^takes true or false|^cannot|^loops over|^reads an element|^searches in| takes /, 'operands of types that the operator does not take'],
  [/^must have at most|^must be nested|^must be at most/, 'too large'],
  [/^only type-checked/, 'only type-checked, or parsed without macros'],
  [/^unknown values/, 'unknown values'],
];

function reasonOf(why: string): string {
  return reasons.find(([message]) => message.test(why))?.[1] ?? why;
}

/** Returns the table of docs/reference/conditions.md. */
export function conformanceTable(files: readonly FileResults[]): string {
  const count = (results: readonly CaseResult[], outcome: Outcome): number => results.filter((one) => one.outcome === outcome).length;
  const rowOf = (name: string, results: readonly CaseResult[], why: string): string =>
    `| ${[name, results.length, ...(['pass', 'wrong', 'refused', 'undecided', 'left'] as const).map((outcome) => count(results, outcome)), why].join(' | ')} |`;
  return [
    '| file | cases | pass | wrong | refused when written | undecided | left out | what is not there |',
    '|---|---|---|---|---|---|---|---|',
    ...files.map(({ file, results }) => rowOf(file, results, whyOf(results))),
    rowOf(
      'all',
      files.flatMap(({ results }) => results),
      '',
    ),
  ].join('\n');
}

/** The reasons of a file, the most frequent first. */
function whyOf(results: readonly CaseResult[]): string {
  const counts = new Map<string, number>();
  for (const { outcome, why } of results) if (outcome !== 'pass') counts.set(reasonOf(why), (counts.get(reasonOf(why)) ?? 0) + 1);
  return [...counts]
    .toSorted(([a, many], [b, few]) => few - many || a.localeCompare(b))
    .map(([words]) => words)
    .join('; ');
}

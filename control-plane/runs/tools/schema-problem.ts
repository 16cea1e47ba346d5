// Checks a value against the schema of a tool. Schemas come from third parties. A schema cannot load other schemas: a
// `$ref` can only refer to a place in the same schema. A schema that is too complex is not compiled. Compiling and
// checking have a time limit each. Compiled schemas are cached by their content, for all runs. If a schema cannot be
// compiled or is too slow, every value passes: the tool's server checks what it receives, and policy, not a schema,
// decides which calls are allowed.
import { createHash } from 'node:crypto';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { schemaWords } from '../../base/schema-words.ts';
import { createTimeBound, type WithinMs } from './time-bound.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns the problem in words; null: no problem. `whole` is the name for the value in these words. */
export type SchemaProblem = (schema: Schema, value: unknown, whole: string) => string | null;

/**
 * The largest number of objects and lists in a whole schema, because the compile time grows with them. 500 took 30 to
 * 100 ms of CPU (measured 2026-11). The schemas of most tools have tens.
 */
const nodesMax = 500;
/**
 * The maximum times for compiling and for checking, in ms. They are wall-clock time, so a busy machine reaches the
 * limit sooner.
 */
const compileMsMax = 250;
const checkMsMax = 100;
/**
 * A busy machine may exceed the time limit now and then. A schema that exceeds it this often counts as too slow and is
 * no longer checked.
 */
const lateMax = 3;
/**
 * The memory budget of the cached checks, in bytes: the schemas as JSON, plus `checkBytes` for each, because a compiled
 * check needs more memory than the text.
 */
const keptBytesMax = 32 * 1_048_576;
const checkBytes = 64 * 1024;

const options: Options = {
  strict: false,
  // Otherwise the dialect's own schema would be compiled too, only to find errors that the compiler finds anyway.
  meta: false,
  validateSchema: false,
  validateFormats: false,
  allErrors: true,
  ownProperties: true,
  // Otherwise a small definition with many references would be copied for each reference.
  inlineRefs: false,
  addUsedSchema: false,
  logger: false,
  // Optimisation takes more time than it saves.
  code: { optimize: false },
};

interface CachedSchema {
  readonly bytes: number;
  /** Undefined: not compiled yet; null: unusable. */
  check: ValidateFunction | null | undefined;
  late: number;
}

/** Creates the check. There is one instance per process. */
export function createSchemaProblem(within: WithinMs = createTimeBound()): SchemaProblem {
  const keptOf = createStore();
  return (schema, value, whole) => {
    const kept = keptOf(schema);
    try {
      if (kept.check === undefined) kept.check = within(compileMsMax, () => compile(schema));
      const { check } = kept;
      return check === null ? null : within(checkMsMax, () => (check(value) ? null : wordsFor(check.errors ?? [], whole)));
    } catch (error) {
      kept.late += isLate(error) ? 1 : lateMax;
      if (kept.late >= lateMax) kept.check = null;
      return null;
    }
  };
}

/** Evicts the least recently used entries. */
function createStore(): (schema: Schema) => CachedSchema {
  // The runs of a workspace have separate copies of the same schema. `byContent` finds the one check for all copies.
  const bySchema = new WeakMap<Schema, CachedSchema>();
  const byContent = new Map<string, CachedSchema>();
  let bytes = 0;

  function keptBy(content: string): CachedSchema {
    const key = createHash('sha256').update(content).digest('base64');
    const kept = byContent.get(key) ?? { bytes: Buffer.byteLength(content) + checkBytes, check: undefined, late: 0 };
    bytes += byContent.delete(key) ? 0 : kept.bytes;
    byContent.set(key, kept);
    for (const [oldest, old] of byContent) {
      if (bytes <= keptBytesMax || old === kept) break;
      byContent.delete(oldest);
      bytes -= old.bytes;
    }
    return kept;
  }

  return (schema) => {
    const kept = bySchema.get(schema) ?? keptBy(JSON.stringify(schema));
    bySchema.set(schema, kept);
    return kept;
  };
}

/** Returns null for a schema that no dialect accepts, or that is too complex. */
function compile(schema: Schema): ValidateFunction | null {
  if (isIntricate(schema)) return null;
  // An asynchronous check would return a promise, which cannot be used here.
  const { $schema: dialect, $async: _, ...rest } = schema;
  const old = /draft-0[4-7]/.test(String(dialect));
  for (const Dialect of old ? [Ajv] : [Ajv2020, Ajv]) {
    try {
      // A new instance for each schema, so that no schema can refer to names that another schema defines.
      return new Dialect(options).compile(rest);
    } catch {}
  }
  return null;
}

function isIntricate(schema: Schema): boolean {
  const nodes: object[] = [schema];
  for (let at = 0; at < nodes.length; at += 1) {
    if (nodes.length > nodesMax) return true;
    for (const child of Object.values(nodes[at] ?? {})) if (typeof child === 'object' && child !== null) nodes.push(child);
  }
  return false;
}

/**
 * Whether the error is a timeout. It comes from another realm of JavaScript, so it is not an instance of our `Error`.
 */
const isLate = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

const problemsMax = 10;
const wordsMax = 2_000;

/** Describes the errors for the model, without quoting the checked values. `whole`: the name of the value. */
function wordsFor(errors: readonly ErrorObject[], whole: string): string {
  const told = errors.filter(saysSomething).slice(0, 10 * problemsMax);
  const said = [...new Set(told.map((error) => schemaWords(error, whole)))];
  const more = said.length > problemsMax ? `; and ${said.length - problemsMax} more` : '';
  return `${said.slice(0, problemsMax).join('; ').slice(0, wordsMax)}${more}` || `${whole} must be another, by the schema`;
}

/** Whether the error says what is wrong. An error of `if` only says that one of its branches failed. */
const saysSomething = ({ keyword }: ErrorObject): boolean => keyword !== 'if';

// What is wrong with a value by the schema of a tool. Schemas come from strangers: they fetch nothing (`$ref` stays inside), one that is
// too intricate is not compiled, and compiling one and checking against it have a time each. What was compiled of a schema is kept by its
// content, for all runs. One that cannot be compiled, or is too slow, is held against nobody: everything passes, the tool's server
// checks what it is sent, and what may be called is up to policy and not to a schema.
import { createHash } from 'node:crypto';
import { Ajv, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { wordsFor } from './schema-words.ts';
import { createTimeBound, type WithinMs } from './time-bound.ts';

type Schema = Readonly<Record<string, unknown>>;

/** In words, in which the value is called `whole`; null: nothing is wrong. */
export type SchemaProblem = (schema: Schema, value: unknown, whole: string) => string | null;

/**
 * Objects and lists in a whole schema: the compiler's time grows with them. For 500 it took 30 to 100 ms of CPU (measured 2026-11); the
 * schemas of most tools have tens.
 */
const nodesMax = 500;
/** Of the wall clock, so that a busy machine reaches it sooner. */
const compileMsMax = 250;
const checkMsMax = 100;
/** A busy machine may be late now and then; whoever is late so often is slow. */
const lateMax = 3;
/** Of the schemas whose checks are kept, as JSON, and what each counts besides: the check that was compiled of it takes more than its text. */
const keptBytesMax = 32 * 1_048_576;
const checkBytes = 64 * 1024;

const options: Options = {
  strict: false,
  // Otherwise it would compile the dialect's own schema to say the same as the compiler.
  meta: false,
  validateSchema: false,
  validateFormats: false,
  allErrors: true,
  ownProperties: true,
  // A small definition that is referred to often would be written out as often.
  inlineRefs: false,
  addUsedSchema: false,
  logger: false,
  // It takes longer than it saves.
  code: { optimize: false },
};

interface Kept {
  readonly bytes: number;
  /** Undefined: not compiled yet; null: it is no use. */
  check: ValidateFunction | null | undefined;
  late: number;
}

/** One for the process. */
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

/** The least lately used are forgotten. */
function createStore(): (schema: Schema) => Kept {
  // The runs of a workspace have copies of one schema.
  const bySchema = new WeakMap<Schema, Kept>();
  const byContent = new Map<string, Kept>();
  let bytes = 0;

  function keptBy(content: string): Kept {
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

/** Null for a schema that no dialect can make sense of, or that is too much. */
function compile(schema: Schema): ValidateFunction | null {
  if (isIntricate(schema)) return null;
  // An asynchronous check would be a promise, and a promise is no answer.
  const { $schema: dialect, $async: _, ...rest } = schema;
  const old = /draft-0[4-7]/.test(String(dialect));
  for (const Dialect of old ? [Ajv] : [Ajv2020, Ajv]) {
    try {
      // A new one for each: what one schema names is not there for another to refer to.
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

/** It is of another realm, whose `Error` is not ours. */
const isLate = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';

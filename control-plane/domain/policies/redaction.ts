// The section `redaction` of the workspace document: what its writer may say, and the question of a preview, which may
// bring a draft of it. What it lets through, every sidecar takes.
import { bounds, isRedactionKind, nameProblem, ownKindProblem, redactionKinds } from '@tollgate/proto/contract';
import { ownPatternProblem } from '@tollgate/sidecar/redact';
import type { Checked } from '../refusal.ts';
import { described, entries, fields, isObject, list, oneOf, type Problem, problem, record, type Shape, text } from '../shape.ts';

/** As stored and returned: what was sent, merged. */
export interface RedactionDocument {
  readonly kinds?: Readonly<Record<string, boolean>>;
  /** RE2, by the name of the kind that is found by it. */
  readonly patterns?: Readonly<Record<string, string>>;
  /** SHA-256 in hex. */
  readonly allow?: readonly string[];
  /** Kinds by tool name or wildcard. */
  readonly exceptions?: Readonly<Record<string, readonly string[]>>;
}

const patternsMax = 50;
const allowedMax = 1_000;
const exceptionsMax = 1_000;
const kindsMax = redactionKinds.length + patternsMax;

const ownKindSchema = { type: 'string', pattern: '^[a-z][a-z0-9_]{0,39}$' };

const pattern: Shape = {
  check: (value, path) => {
    const wrong = typeof value === 'string' ? ownPatternProblem(value) : 'must be a string';
    return wrong === null ? [] : problem(path, wrong);
  },
  schema: { type: 'string', maxLength: 500, description: 'RE2; one that matches the empty text is refused' },
};

const digestForm = /^[0-9a-f]{64}$/;
const digest: Shape = {
  check: (value, path) => {
    if (typeof value === 'string' && digestForm.test(value)) return [];
    const isUpper = typeof value === 'string' && digestForm.test(value.toLowerCase());
    return problem(path, isUpper ? 'must be in lower case' : 'must be 64 hex digits, the SHA-256 of a value');
  },
  schema: { type: 'string', pattern: digestForm.source },
};

/** Of the section's own patterns: an exception may name them too. */
const kindIn = (patterns: ReadonlySet<string>): Shape => ({
  check: (value, path) => {
    if (typeof value !== 'string') return problem(path, 'must be a string');
    if (isRedactionKind(value) || patterns.has(value)) return [];
    return problem(path, `must be one of the patterns here or one of ${redactionKinds.join(', ')}`);
  },
  schema: { type: 'string', description: 'a kind that is built in, or one of `patterns`' },
});

const shapeWith = (patterns: ReadonlySet<string>): Shape =>
  fields({
    kinds: described('`false`: not looked for', fields(Object.fromEntries(redactionKinds.map((kind) => [kind, oneOf(true, false)])))),
    patterns: described(
      "the workspace's own kinds, each found by a pattern",
      entries({ problem: ownKindProblem, schema: { ...ownKindSchema, not: { enum: redactionKinds } }, max: patternsMax }, pattern),
    ),
    allow: described('values that stay as they are, each by its SHA-256; a preview tells them', list(allowedMax, digest)),
    exceptions: described(
      'kinds that calls of a tool keep, by tool name or wildcard: the exact name before the longest wildcard',
      entries(
        {
          problem: nameProblem,
          schema: { type: 'string', minLength: 1, maxLength: bounds.nameLength },
          max: exceptionsMax,
          inBrackets: true,
        },
        list(kindsMax, kindIn(patterns)),
      ),
    ),
  });

export const redaction: Shape = {
  check: (value, path) => shapeWith(patternsOf(value)).check(value, path),
  schema: shapeWith(new Set()).schema,
};

const patternsOf = (value: unknown): ReadonlySet<string> =>
  new Set(isObject(value) && isObject(value['patterns']) ? Object.keys(value['patterns']) : []);

export interface PreviewQuestion {
  readonly value: unknown;
  /** Whose exceptions hold; absent: nobody's. */
  readonly tool?: string;
  /** A draft of the section; absent: as stored. */
  readonly redaction?: RedactionDocument;
}

const anything: Shape = { check: () => [], schema: { description: 'a text, or any JSON' } };
const preview = record(
  {
    value: anything,
    tool: described('whose exceptions hold', text(bounds.nameLength, nameProblem)),
    redaction: described('a draft of the section of that name; absent: as stored', redaction),
  },
  ['value'],
);
export const previewSchema = preview.schema;

export function parsePreview(body: unknown): Checked<PreviewQuestion> {
  const problems: readonly Problem[] = preview.check(body, '');
  if (problems.length > 0 || !isPreview(body)) return { problems };
  return { value: body };
}

/** `preview` has checked it. */
const isPreview = (body: unknown): body is PreviewQuestion => isObject(body);

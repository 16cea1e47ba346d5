// Defines the permitted content of the `redaction` section of the workspace document. Every sidecar accepts what passes
// this check.
import {
  bounds,
  isRedactionKind,
  nameProblem,
  overBudgetKind,
  ownKindProblem,
  redactionBounds,
  redactionKinds,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import { ownPatternProblem } from '../redact/own-pattern.ts';
import { described, entries, fields, isObject, list, oneOf, problem, type Shape } from '@tollgate/proto/shape';

/** The section as it is stored and returned: the merged content of the writes. */
export interface RedactionDocument {
  readonly kinds?: Readonly<Record<string, boolean>>;
  /** RE2 patterns, by the name of the kind that they find. */
  readonly patterns?: Readonly<Record<string, string>>;
  /** The values that are not redacted, each as its SHA-256 in hex. */
  readonly allow?: readonly string[];
  /** The kinds that are not redacted in calls of a tool, by tool name or wildcard. */
  readonly exceptions?: Readonly<Record<string, readonly string[]>>;
}

const kindsMax = redactionKinds.length + redactionBounds.patterns;

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

/**
 * Returns the shape that checks the name of a kind. `patterns`: the names of the section's own patterns. An exception
 * can name these too.
 */
const kindIn = (patterns: ReadonlySet<string>): Shape => ({
  check: (value, path) => {
    if (typeof value !== 'string') return problem(path, 'must be a string');
    if (isRedactionKind(value) || patterns.has(value)) return [];
    return problem(path, `must be the name of one of the "patterns" of this section, or one of ${redactionKinds.join(', ')}`);
  },
  schema: { type: 'string', description: 'a kind that is built in, or one of `patterns`' },
});

/**
 * Returns the problem of a key that looks like a wildcard but is none. As a literal name, `crm*` would match no tool,
 * but a person who writes it means many tools.
 */
const lostWildcard = (key: string): string | null =>
  key.endsWith('*') && wildcardPrefix(key) === null ? 'ends in * but is not a wildcard, which ends in .* _* /* :* or -*' : null;

const shapeWith = (patterns: ReadonlySet<string>): Shape =>
  fields({
    kinds: described('`false`: not detected', fields(Object.fromEntries(redactionKinds.map((kind) => [kind, oneOf(true, false)])))),
    patterns: described(
      "the workspace's own kinds, each found by a pattern",
      entries(
        {
          problem: ownKindProblem,
          schema: { ...ownKindSchema, not: { enum: [...redactionKinds, overBudgetKind] } },
          max: redactionBounds.patterns,
        },
        pattern,
      ),
    ),
    allow: described('values that are not redacted, each by its SHA-256; a preview shows the digests', list(redactionBounds.allow, digest)),
    exceptions: described(
      'kinds that are not redacted in calls of a tool, by tool name or wildcard: the exact name before the longest wildcard',
      entries(
        {
          problem: (key) => nameProblem(key) ?? lostWildcard(key),
          schema: { type: 'string', minLength: 1, maxLength: bounds.nameLength },
          max: redactionBounds.exceptions,
          inBrackets: true,
        },
        list(kindsMax, kindIn(patterns)),
      ),
    ),
  });

export const redactionSection: Shape = {
  check: (value, path) => shapeWith(patternsOf(value)).check(value, path),
  schema: shapeWith(new Set()).schema,
};

const patternsOf = (value: unknown): ReadonlySet<string> =>
  new Set(isObject(value) && isObject(value['patterns']) ? Object.keys(value['patterns']) : []);

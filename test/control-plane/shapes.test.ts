// The API document describes agents and policies by JSON Schema; `domain/` checks them by functions of the same rows.
// Both must accept the same values, over generated valid and invalid ones.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agentSchemas, checkAgentPatch, checkAgentUpdate, checkNewAgent } from '../../control-plane/agents/rules/agent.ts';
import { isRecognisedModel } from '../../control-plane/agents/rules/models.ts';
import { checkDocument, type DocumentKind, documentSchema } from '../../sidecar/engine/compile/policy-document.ts';
import type { Problem } from '../../proto/contract/shape.ts';
import { casesOf } from '../support/case-count.ts';
import { valueOf } from '../support/generated-requests.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const none = { path: {}, properties: { model: ['demo/echo'] }, components: {} };

/** Mostly values that the schema allows, with one value somewhere replaced. */
const nearly = (schema: object): fc.Arbitrary<unknown> =>
  fc
    .tuple(valueOf({ ...schema }, none), fc.option(fc.tuple(fc.nat(20), fc.jsonValue({ maxDepth: 1 })), { freq: 2 }))
    .map(([value, spoilt]) => (spoilt === null ? value : spoil(value, { left: spoilt[0] }, spoilt[1])));

function spoil(value: unknown, at: { left: number }, by: unknown): unknown {
  at.left -= 1;
  if (at.left < 0) {
    at.left = Number.POSITIVE_INFINITY;
    return by;
  }
  if (Array.isArray(value)) return value.map((one) => spoil(one, at, by));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, spoil(child, at, by)]));
}

/** Names have rules that a schema cannot express: control characters, blanks at the ends, unpaired surrogates. */
const plainNames = (value: unknown): boolean => /^[\x21-\x7e ]*$/.test(JSON.stringify(value)) && !/\\u|" | "/.test(JSON.stringify(value));

interface Count {
  right: number;
  wrong: number;
}

function agree(schema: object, accepts: (value: unknown) => boolean, numRuns = casesOf(3_000)): void {
  const validate = ajv.compile(schema);
  const count: Count = { right: 0, wrong: 0 };
  fc.assert(
    fc.property(nearly(schema), (value) => {
      const [checked, shown] = [accepts(value), validate(value)];
      if (checked) count.right += 1;
      else count.wrong += 1;
      // Nothing is accepted that the document forbids, and nothing refused that it allows.
      if (checked) expect(shown).toBe(true);
      else if (plainNames(value)) expect(shown).toBe(false);
    }),
    { numRuns, seed: 20261121 },
  );
  expect(Math.min(count.right, count.wrong)).toBeGreaterThan(100);
}

/**
 * A schema cannot express these: whether a pattern is RE2 and a condition is CEL, that a name must exist elsewhere in the
 * document, that it must not, that a value must be one name where its key is one name, and that terms of a question need
 * another field.
 */
const isBeyondSchema = ({ message }: Problem): boolean =>
  /^(?:is not an RE2 pattern: |line \d+, column \d+: (?!must not be empty$|must be at most \d+ bytes)|must be unique in the rule, |matches the empty text|must be the name of one of the "patterns" of this section, or |must be one name, as the name that it stands for is|is only for a rule or case with its own permission "ask"|must be true if "subject" is an approver|must be at most \d+, the number of the approvers)/.test(
    message,
  );

describe('policy documents', () => {
  test.each<DocumentKind>(['workspace', 'role', 'agent-type', 'user'])(
    'of the %s layer',
    (kind) => {
      // The document of a workspace has the most that can be wrong, so that fewer values are right.
      agree(
        documentSchema(kind),
        (value) => checkDocument(kind, 'organisation', value).every(isBeyondSchema),
        kind === 'workspace' ? 7_000 : 3_000,
      );
    },
    120_000,
  );
});

const isLong = (value: unknown): boolean => /"model":"[^"]{201}/.test(JSON.stringify(value));

describe('agents', () => {
  test.each([
    ['create', agentSchemas.create, checkNewAgent],
    ['update', agentSchemas.update, checkAgentUpdate],
    ['patch', agentSchemas.patch, (body: unknown) => checkAgentPatch(body, isRecognisedModel)],
  ] as const)('on %s', (_name, schema, check) => {
    agree(schema, (value) => {
      const checked = check(value);
      // The catalogue is not in the schema.
      return (
        !('problems' in checked) || (checked.problems.every(({ message }) => message === 'is not a recognized model') && !isLong(value))
      );
    });
  });
});

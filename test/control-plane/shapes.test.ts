// The API document shows agents and policies by JSON Schema; `domain/` checks them by functions of the same rows. What
// one takes the other takes, over generated values, right and wrong.
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agentSchemas, checkAgentPatch, checkAgentUpdate, checkNewAgent } from '../../control-plane/agents/rules/agent.ts';
import { isRecognisedModel } from '../../control-plane/agents/rules/models.ts';
import { checkDocument, type DocumentKind, documentSchema } from '../../control-plane/policies/rules/policy.ts';
import type { Problem } from '../../proto/contract/shape.ts';
import { valueOf } from '../support/generated-requests.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const none = { path: {}, properties: { model: ['demo/echo'] }, components: {} };

/** Mostly what the schema allows, with one value somewhere replaced. */
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

/** What a name may hold is more than a schema says: control characters, blanks at its ends, halves of pairs. */
const plainNames = (value: unknown): boolean => /^[\x21-\x7e ]*$/.test(JSON.stringify(value)) && !/\\u|" | "/.test(JSON.stringify(value));

interface Count {
  right: number;
  wrong: number;
}

function agree(schema: object, accepts: (value: unknown) => boolean): void {
  const validate = ajv.compile(schema);
  const count: Count = { right: 0, wrong: 0 };
  fc.assert(
    fc.property(nearly(schema), (value) => {
      const [checked, shown] = [accepts(value), validate(value)];
      if (checked) count.right += 1;
      else count.wrong += 1;
      // Nothing is taken that the document forbids, and nothing refused that it allows.
      if (checked) expect(shown).toBe(true);
      else if (plainNames(value)) expect(shown).toBe(false);
    }),
    { numRuns: 3_000, seed: 20261121 },
  );
  expect(Math.min(count.right, count.wrong)).toBeGreaterThan(150);
}

/** What is RE2 no schema says, nor that a name has to stand elsewhere in the document, nor what beside a key that is none of its own. */
const isBeyondSchema = ({ message }: Problem): boolean =>
  /^(?:is no RE2 pattern: |matches the empty text|must be one of the patterns here or |must be one name, as the name that it stands for is)/.test(
    message,
  );

describe('policy documents', () => {
  test.each<DocumentKind>(['workspace', 'role', 'agent-type', 'user'])('of the %s layer', (kind) => {
    agree(documentSchema(kind), (value) => checkDocument(kind, 'organisation', value).every(isBeyondSchema));
  });
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

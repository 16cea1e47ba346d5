// The id of a limit leads back to its rule.
import { type CompiledDocument, documentKey, type DocumentId, tiers } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileDocument } from '../../sidecar/engine/compile/compile.ts';
import type { PolicyDocument } from '../../sidecar/engine/compile/policy-document.ts';
import { limitMaxOf } from '../../control-plane/quota/rules/limit-place.ts';
import { anyCase, indexDocument, readOpinion } from '../../sidecar/engine/decide/document.ts';

// Names with quotes, blanks and brackets, which could confuse the parser.
const name = fc.constantFrom(
  'a',
  'a b',
  'a.*',
  '"',
  '\\',
  ' tools["a"].api',
  '"].api',
  'defaults.api',
  'é\u{1F600}',
  'constructor',
  '__proto__',
);
const cases = fc.uniqueArray(fc.record({ name, when: fc.constant('true'), rateLimit: fc.nat() }, { requiredKeys: ['name', 'when'] }), {
  minLength: 1,
  maxLength: 3,
  selector: (one) => one.name,
});
const rules = fc.dictionary(fc.constantFrom(...tiers, 'inert'), fc.record({ rateLimit: fc.nat(), cases }, { requiredKeys: [] }), {
  maxKeys: 3,
});
const document: fc.Arbitrary<PolicyDocument> = fc.record(
  {
    defaults: rules,
    tools: fc.dictionary(name, rules, { maxKeys: 3 }),
    agentTypes: fc.dictionary(
      name.map((part) => `c::api::${part}`),
      rules,
      { maxKeys: 2 },
    ),
  },
  { requiredKeys: [] },
);
const id: fc.Arbitrary<DocumentId> = fc.oneof(
  fc.constant<DocumentId>({ layer: 'workspace' }),
  name.map((part) => ({ layer: 'agent-type' as const, agentType: `c::api::${part}` })),
  fc.constant<DocumentId>({ layer: 'user', uid: 'u', part: 'self' }),
);

/** Returns every limit that a sidecar may find there, by its id. */
function limitsOf(compiled: CompiledDocument): readonly (readonly [string, number])[] {
  const indexed = indexDocument(compiled);
  const tools = ['not listed', ...compiled.tools.map(([key]) => key)];
  const types = ['none', ...compiled.agentTypes.map(([key]) => key)];
  return tools.flatMap((tool) =>
    types.flatMap((type) =>
      tiers.flatMap((tier) =>
        (readOpinion(indexed, tool, tier, type, anyCase)?.limits ?? []).map(
          ({ value, path }) => [`${indexed.key} ${path}`, value] as const,
        ),
      ),
    ),
  );
}

test('whatever the names are, each limit that a sidecar finds is found by its id, also that of a case', () => {
  let found = 0;
  let ofCases = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(id, document), { maxLength: 4 }), (stored) => {
      const documents = new Map(stored.map(([of, content]) => [documentKey(of), content]));
      for (const [of, content] of new Map(stored.map((one) => [documentKey(one[0]), one])).values()) {
        for (const [limit, max] of limitsOf(compileDocument(of, content))) {
          found += 1;
          if (limit.endsWith(']')) ofCases += 1;
          expect(limitMaxOf(limit, (key) => documents.get(key))).toBe(max);
        }
      }
    }),
    { numRuns: 1_000 },
  );
  expect(found).toBeGreaterThan(1_000);
  expect(ofCases).toBeGreaterThan(1_000);
});

test.each([
  'workspace',
  'workspace ',
  'workspace defaults.api ',
  'workspace defaults.absent',
  'workspace tools["b"].api',
  'workspace tools["\\u0061"].api',
  'workspace tools["a].api',
  'workspace tools["a"]["api"]',
  'workspace mode.api',
  'role:member defaults.api',
  'workspace tools["a"].api.cases["other"]',
  'workspace tools["a"].api.cases["free"]',
  'workspace tools["a"].api.cases',
])('%j names no limit', (limit) => {
  const a = { rateLimit: 6, cases: [{ name: 'free', when: 'true' }] };
  const content: PolicyDocument = { defaults: { api: { rateLimit: 5 } }, tools: { a: { api: a } } };
  expect(limitMaxOf(limit, (key) => (key === 'workspace' ? content : undefined))).toBeNull();
});

// A path leads back to its place, whatever the names are.
import { casePath, parseRulePath, rulePath, tiers } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';

const awkward = ['"', '\\', '"].api', '.cases["', 'a.cases["b"]', ' tools["a"].api', '', '__proto__', '\u2028', '\ud800', 'é\u{1F600}'];
const name = fc.oneof(fc.constantFrom(...awkward), fc.string(), fc.string({ unit: 'binary' }));

test('each place has a path, and the path leads back to it', () => {
  const places = fc.record({
    section: fc.constantFrom('defaults', 'tools', 'agentTypes'),
    name,
    tier: fc.constantFrom(...tiers),
    caseName: fc.option(name),
  });
  fc.assert(
    fc.property(places, ({ section, name: named, tier, caseName }) => {
      const key = section === 'defaults' ? null : named;
      const rule = rulePath(section, key, tier);
      expect(parseRulePath(caseName === null ? rule : casePath(rule, caseName))).toEqual({ section, key, tier, caseName });
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  '',
  'defaults',
  'defaults.other',
  'defaults.api ',
  'defaults.api.cases',
  'defaults.api.cases["a"].when',
  'defaults.api.cases[0]',
  'defaults["a"].api',
  'tools.api',
  'tools["\\u0061"].api',
  'tools["a"].api.cases["\\u0061"]',
  'tools["a].api',
  'tools["\\x"].api',
  'defaults.api.cases["\\x"]',
])('%j is the path of no rule', (path) => {
  expect(parseRulePath(path)).toBeNull();
});

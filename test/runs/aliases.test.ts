// The aliases of tools for models.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAliases } from '../../control-plane/runs/tools/aliases.ts';

const accepted = /^[A-Za-z0-9_-]{1,64}$/;
const aliasOf = (name: string): string => createAliases([name]).aliasOf(name);

/**
 * Names that are likely to collide: few letters, dots, underscores, characters that no provider accepts, and long
 * names.
 */
const name = fc.oneof(
  fc.stringMatching(/^[ab._-]{1,8}$/),
  fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,62}\.[A-Za-z0-9_./:-]{1,120}$/),
  fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' }),
);

test('every alias is a name that providers accept, and leads back to its tool', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 30 }), (names) => {
      const aliases = createAliases(names);
      for (const one of names) {
        expect(aliases.aliasOf(one)).toMatch(accepted);
        expect(aliases.nameOf(aliases.aliasOf(one))).toBe(one);
      }
      expect(new Set(names.map((one) => aliases.aliasOf(one))).size).toBe(new Set(names).size);
    }),
    { numRuns: 2_000 },
  );
});

test('an alias does not depend on the order of the names', () => {
  fc.assert(
    fc.property(fc.uniqueArray(name, { maxLength: 20 }), (names) => {
      const [there, back] = [createAliases(names), createAliases([...names].reverse())];
      for (const one of names) expect(back.aliasOf(one)).toBe(there.aliasOf(one));
    }),
  );
});

test.each([
  ['git.create_issue', 'git__create_issue'],
  ['agents.Researcher', 'agents__Researcher'],
  ['Read', 'Read'],
  ['a._b', 'a___b'],
])('the alias of %s is %s, without a hash', (name, alias) => {
  expect(aliasOf(name)).toBe(alias);
});

test.each([
  ['longer than 64', `server.${'x'.repeat(80)}`],
  ['with another dot', 'server.a.b'],
  ['with a blank', 'agents.Research Bot'],
  ['of another script', 'agents.研究'],
  ['that reads as another alias', 'server__tool'],
])('the alias of a name %s ends with a hash', (_what, name) => {
  expect(aliasOf(name)).toMatch(/^[A-Za-z0-9_-]{1,53}_[0-9a-f]{10}$/);
});

test('a tool whose name equals the alias of another tool takes nothing from it', () => {
  const odd = 'server.a b';
  const thief = aliasOf(odd).replace('__', '.');
  const aliases = createAliases([thief, odd]);
  expect(aliases.aliasOf(odd)).not.toBe(aliases.aliasOf(thief));
  expect([odd, thief].map((one) => aliases.nameOf(aliases.aliasOf(one)))).toEqual([odd, thief]);
});

test('a name that a model invents is not a tool', () => {
  const aliases = createAliases(['git.read']);
  expect(['git.read', 'git__write', 'constructor', ''].map((alias) => aliases.nameOf(alias))).toEqual([null, null, null, null]);
});

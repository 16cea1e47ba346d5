// For any names of a server and its tools: no call that a rule denies is allowed under any host's spelling of it.
import { hosts, nameProblem, type Rule, wildcardPrefix } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { document, server, settings, type World } from '../../../support/snapshots.ts';
import { decidedOf, indexOf, outcomeOf } from './asked.ts';
import { casesOf } from '../../../support/case-count.ts';
import { spellingsOf } from './spelled.ts';

// Few characters, so that names collide. They include all characters that hosts replace, and parts that are too long
// for each host.
const part = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: fc.constantFrom(...'aab-_.'.split('')), minLength: 1, maxLength: 4 }) },
  {
    weight: 3,
    arbitrary: fc.string({
      unit: fc.constantFrom('a', 'B', '7', '-', '_', '.', '/', ' ', ':', 'é', '🔥'),
      minLength: 1,
      maxLength: 6,
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('a', 'a-b', 'a.b', 'a_b_', '🔥'), fc.integer({ min: 3, max: 20 }), fc.constantFrom('', 'c', '.d', '-d'))
      .map(([one, times, end]) => one.repeat(times).slice(0, 90) + end),
  },
  { weight: 1, arbitrary: fc.constantFrom('claude.ai A (b)', 'claude.ai  a/', 'claude.ai -a_') },
);

interface ServerTool {
  readonly server: string;
  readonly tool: string;
}

const nameOf = ({ server: name, tool }: ServerTool): string => `${name}.${tool}`;

/** A key that may name the call, or a similar name. */
const keyOf = (call: ServerTool): fc.Arbitrary<string> => {
  const name = nameOf(call);
  const ends = [...name.matchAll(/[._/:-]/g)].map(({ index }) => `${name.slice(0, index + 1)}*`);
  return fc.oneof(
    { weight: 4, arbitrary: fc.constant(name) },
    { weight: 3, arbitrary: fc.constantFrom(...ends) },
    { weight: 2, arbitrary: fc.constantFrom(name.replaceAll(/[^A-Za-z0-9.]/g, '_'), name.replaceAll('_', '-'), name.replace('-', '.')) },
    { weight: 1, arbitrary: fc.tuple(part, part).map(([a, b]) => `${a}.${b}`) },
    { weight: 1, arbitrary: part.map((one) => `${one}.*`) },
  );
};

const key = (call: ServerTool): fc.Arbitrary<string> => keyOf(call).filter((one) => nameProblem(one) === null);
const called: fc.Arbitrary<ServerTool> = fc.record({ server: part, tool: part }).filter((call) => nameProblem(nameOf(call)) === null);
const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
const rules = (keys: readonly (readonly [string, Rule['permission']])[]): Pick<World, 'documents'> => ({
  documents: [
    document({
      tools: [...new Map(keys)].map(([one, permission]) => [one, tiers.map((tier) => [tier, { permission: permission ?? 'deny' }])]),
    }),
  ],
});
const names = (one: string, tool: string): boolean => {
  const prefix = wildcardPrefix(one);
  return one === tool || (prefix !== null && tool.startsWith(prefix));
};

test('where rules only deny, a call that one of them denies is denied under every spelling', () => {
  let denied = 0;
  const scene = called.chain((call) => fc.tuple(fc.constant(call), fc.array(key(call), { minLength: 1, maxLength: 4 })));
  fc.assert(
    fc.property(scene, ([call, keys]) => {
      const index = indexOf(rules(keys.map((one) => [one, 'deny'])));
      if (!keys.some((one) => names(one, nameOf(call)))) return;
      denied += 1;
      for (const { host, way, input } of spellingsOf(call.server, call.tool))
        expect([host, way, outcomeOf(index, host, input).decision]).toEqual([host, way, 'deny']);
    }),
    { numRuns: casesOf(3_000) },
  );
  expect(denied).toBeGreaterThan(casesOf(1_500));
});

test('for a registered tool, every spelling is decided as the tool is, or denied', () => {
  let [resolved, all] = [0, 0];
  const slug = fc.string({ unit: fc.constantFrom(...'ab-'.split('')), minLength: 1, maxLength: 4 }).map((one) => `a${one}`);
  const scene = fc
    .record({ server: slug, tool: part })
    .filter((call) => nameProblem(call.tool) === null && nameProblem(nameOf(call)) === null)
    .chain((call) =>
      fc.tuple(
        fc.constant(call),
        fc.array(fc.tuple(key(call), fc.constantFrom('deny' as const, 'allow' as const)), { maxLength: 4 }),
        fc.array(fc.tuple(slug, part), { maxLength: 3 }),
        fc.constantFrom('allow' as const, 'deny' as const),
      ),
    );
  fc.assert(
    fc.property(scene, ([call, keys, others, defaultPermission]) => {
      const tools = [[call.server, call.tool] as const, ...others.filter(([, tool]) => nameProblem(tool) === null)];
      const servers = [...new Set(tools.map(([name]) => name))].map((name) => {
        const own = new Set(tools.flatMap(([of, tool]) => (of === name ? [tool] : [])));
        return server({ name, tools: [...own].map((tool) => ({ name: tool, requiredScopes: [] })) });
      });
      const index = indexOf({ ...rules(keys), servers, settings: settings({ defaultPermission }) });
      for (const { host, way, input } of spellingsOf(call.server, call.tool)) {
        const outcome = outcomeOf(index, host, input);
        all += 1;
        if (outcome.code === 'tool_ambiguous') continue;
        resolved += 1;
        const { decision, rule } = decidedOf(index, host, nameOf(call));
        // Without the server's name, nothing shows that the call is not for the tool of another server.
        if (outcome.tool === nameOf(call)) expect([host, way, outcome.rule]).toEqual([host, way, rule]);
        if (decision === 'deny') expect([host, way, outcome.decision]).toEqual([host, way, 'deny']);
      }
    }),
    { numRuns: casesOf(2_000) },
  );
  expect(resolved).toBeGreaterThan(all / 4);
});

test('for an unregistered tool that is denied, a spelling is allowed only if a rule names the spelling itself', () => {
  let denied = 0;
  const scene = called.chain((call) =>
    fc.tuple(
      fc.constant(call),
      fc.array(fc.tuple(key(call), fc.constantFrom('deny' as const, 'allow' as const)), { minLength: 1, maxLength: 4 }),
    ),
  );
  fc.assert(
    fc.property(scene, ([call, keys]) => {
      const index = indexOf(rules(keys));
      if (decidedOf(index, 'codex', nameOf(call)).decision === 'allow') return;
      denied += 1;
      for (const { host, way, input } of spellingsOf(call.server, call.tool)) {
        const outcome = outcomeOf(index, host, input);
        const isNamedItself = keys.some(([one]) => names(one, outcome.tool) && !names(one, nameOf(call)));
        if (outcome.decision === 'allow') expect([host, way, isNamedItself]).toEqual([host, way, true]);
      }
    }),
    { numRuns: casesOf(3_000) },
  );
  expect(denied).toBeGreaterThan(casesOf(500));
});

test('there are spellings for every host', () => {
  expect(new Set(spellingsOf('a', 'b').map(({ host }) => host))).toEqual(new Set(hosts));
});

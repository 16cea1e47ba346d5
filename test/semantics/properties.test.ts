// Properties that must always hold according to docs/design/semantics.md, each checked over generated documents and calls.
// What concerns only cases is in `case-properties.test.ts`.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePatch } from '../../control-plane/policies/rules/merge.ts';
import {
  mapDocuments,
  mapRules,
  onlyFor,
  type Place,
  placesOf,
  readDocument,
  reversed,
  without,
  withoutOverride,
  withToolRule,
  writeDocument,
} from './edit.ts';
import { anyDocumentOf, type Scene, sceneOf, selfDocumentOf } from './generate.ts';
import {
  atLeastAsStrict,
  cases,
  createProperties,
  createTally,
  distinct,
  evaluators,
  pickFrom,
  placeFor,
  runs,
  timeout,
} from './property.ts';
import * as reference from './reference.ts';
import * as rules from './reference-fold.ts';
import { rename, renameOutcome } from './rename.ts';
import { looserThan } from './strictness.ts';
import * as subject from './subject.ts';
import type { Call, Outcome, Rule, UserDocument, World } from './world.ts';

const { property, planned } = createProperties();

/** In some of the scenes, rules have cases, and in some they ask a person too. */
const scenesOf = (...[weights]: Parameters<typeof sceneOf>): fc.Arbitrary<Scene> =>
  fc.oneof(sceneOf(weights), sceneOf({ ...weights, cases: 30 }), sceneOf({ ...weights, cases: 20, ask: 20 }));

const anyScene = scenesOf();
const withoutOverrides = scenesOf({ override: 0 });

/** The classes of outcomes that the generators must produce often enough. */
const tally = createTally({
  'denied by the workspace': (outcome) => isDeniedBy(outcome, 'workspace'),
  'denied by a role': (outcome) => isDeniedBy(outcome, 'role'),
  'denied by an agent type': (outcome) => isDeniedBy(outcome, 'agent-type'),
  'denied by the organisation for a user': (outcome) => isDeniedBy(outcome, 'user', 'organisation'),
  'denied by a user for themselves': (outcome) => isDeniedBy(outcome, 'user', 'self'),
  'denied by default': (outcome) => isDeniedBy(outcome, 'default'),
  override: ({ rule }) => rule?.override === true,
  'audit mode': ({ shadow }) => shadow !== null,
  throttled: ({ code }) => code === 'rate_limited',
  'halted by a cap': ({ stop }) => stop !== null,
  'chain of two or more': (_outcome, { hops }) => hops.length > 1,
});

const isDeniedBy = ({ code, rule }: Outcome, layer: string, part?: string): boolean =>
  code === 'policy_denied' && rule?.layer === layer && rule.part === part;

describe('the generated cases', () => {
  it('are documents that the control plane would store', { timeout }, () => {
    fc.assert(
      fc.property(anyScene, ({ world }) => deepStrictEqual(subject.problemsOf(world), [])),
      { numRuns: Math.ceil(cases / 100) },
    );
  });
});

describe('1 a denial holds, and nothing loosens it without override', () => {
  const denied = fc.record({ scene: withoutOverrides, call: fc.nat(100), place: fc.nat(100) });
  property(
    'one enforcing layer that denies and none that overrides is a denial',
    0.05,
    denied,
    ({ scene, call: callAt, place: placeAt }) => {
      const call = pickFrom(scene.calls, callAt);
      if (call === undefined) return;
      const hops = placesOf(scene.world, call);
      const hop = placeAt % Math.max(1, hops.length);
      const place = pickFrom(hops[hop] ?? [], placeAt);
      const tier = reference.principalsOf(scene.world, call)[hop]?.tier;
      if (place === undefined || tier === undefined) return;
      const document = { ...readDocument(scene.world, place), mode: 'enforce' as const };
      const world = writeDocument(scene.world, place, withToolRule(document, call.tool, tier, { permission: 'deny' }));
      for (const [, decide] of evaluators) deepStrictEqual(decide(world, [call])[0]?.decision, 'deny');
    },
  );

  const added = fc.record({ scene: anyScene, place: fc.nat(100), document: anyDocumentOf({ override: 0, cases: 30, ask: 15 }) });
  property('adding a layer loosens nothing, removing it tightens nothing', 0.06, added, ({ scene, place: placeAt, document }) => {
    const place = placeFor(scene, placeAt);
    if (place === undefined) return;
    const world = { ...scene.world, defaultPermission: 'allow' as const };
    // Only a user's document has agent types.
    const written = writeDocument(world, place, place.layer === 'user' ? document : without(document, 'agentTypes'));
    atLeastAsStrict(written, writeDocument(world, place, null), scene.calls);
  });

  const tightened = fc.record({ scene: anyScene, place: fc.nat(100), tighten: fc.func(fc.boolean()), enforce: fc.boolean() });
  property('tightening a layer loosens nothing', 0.06, tightened, ({ scene, place: placeAt, tighten, enforce }) => {
    const place = placeFor(scene, placeAt);
    const found = place === undefined ? null : readDocument(scene.world, place);
    if (place === undefined || found === null) return;
    const document = withoutOverride(found);
    const stricter = mapRules(document, (rule, at) => {
      const tightened = <F extends Pick<Rule, 'permission' | 'ask' | 'transform' | 'rateLimit'>>(fields: F, of: string): F => ({
        ...fields,
        ...(fields.permission === 'allow' &&
          tighten('permission', at, of) && { permission: tighten('ask', at, of) ? ('ask' as const) : ('deny' as const) }),
        ...(fields.transform === 'log' && tighten('transform', at, of) && { transform: 'redact' as const }),
        ...(fields.rateLimit !== undefined && tighten('rateLimit', at, of) && { rateLimit: Math.max(0, fields.rateLimit - 1) }),
      });
      return { ...tightened(rule, ''), ...(rule.cases && { cases: rule.cases.map((one) => tightened(one, one.name)) }) };
    });
    const world = { ...scene.world, defaultPermission: 'allow' as const };
    atLeastAsStrict(
      writeDocument(world, place, enforce ? { ...stricter, mode: 'enforce' } : stricter),
      writeDocument(world, place, document),
      scene.calls,
    );
  });
});

describe('2 a member cannot loosen anything', () => {
  const written = fc.record({ scene: anyScene, self: selfDocumentOf({ override: 30, ask: 15 }) });
  property(
    'whatever they write about themselves, also an override that was not refused',
    0.06,
    written,
    ({ scene: { world, calls }, self }) => {
      const subs = [...new Set(calls.map(({ sub }) => sub))];
      const write = (document: UserDocument | null): World =>
        subs.reduce((changed, uid) => writeDocument(changed, { layer: 'user', uid, part: 'self' }, document), world);
      atLeastAsStrict(write(self), write(null), calls);
    },
  );
});

describe('3 audit mode does not change any effect', () => {
  const enforced = (outcome: Outcome): unknown => without(outcome, 'storedTransform', 'shadow');
  property(
    'a layer in audit mode decides as if it were not there',
    0.06,
    fc.record({ scene: anyScene, place: fc.nat(100) }),
    ({ scene, place: placeAt }) => {
      const place = placeFor(scene, placeAt);
      const document = place === undefined ? null : readDocument(scene.world, place);
      if (place === undefined || document === null) return;
      const audited = subject.decideCalls(writeDocument(scene.world, place, { ...document, mode: 'audit' }), scene.calls);
      const removed = subject.decideCalls(writeDocument(scene.world, place, null), scene.calls);
      deepStrictEqual(audited.map(enforced), removed.map(enforced));
    },
  );

  property('all documents enforce: nothing is shadowed, and what is stored is what was done', 0.04, anyScene, ({ world, calls }) => {
    const outcomes = subject.decideCalls(
      mapDocuments(world, (document) => ({ ...document, mode: 'enforce' })),
      calls,
    );
    for (const { shadow, storedTransform, transform } of outcomes)
      deepStrictEqual({ shadow, storedTransform }, { shadow: null, storedTransform: transform });
  });
});

describe('4 rules apply to what they name, in any order', () => {
  property(
    'rules for another tool, tier, type, role or user change nothing',
    0.06,
    fc.record({ scene: anyScene, at: fc.nat(100) }),
    ({ scene: { world, calls }, at }) => {
      const call = pickFrom(calls, at);
      if (call === undefined) return;
      for (const [, decide] of evaluators) {
        deepStrictEqual(decide(onlyFor(world, call), [call]).map(withoutShadow), decide(world, [call]).map(withoutShadow));
      }
    },
  );
  // The shadow is present only where some document is in audit mode. That document can be without any rule for this
  // call.
  const withoutShadow = (outcome: Outcome): unknown => without(outcome, 'storedTransform', 'shadow');

  property('the order of keys and of writes does not reach the snapshot', 0.04, anyScene, ({ world }) => {
    const entries = subject.entriesOf(world);
    const others = subject.entriesOf(reversed(world));
    deepStrictEqual(
      others.map(({ key }) => key),
      entries.map(({ key }) => key),
    );
    for (const [i, { key, value }] of entries.entries()) if (others[i]?.value.equals(value) !== true) throw new Error(`${key} differs`);
  });

  const json = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, null, 1, 'x', true),
      fc.array(fc.constantFrom(1, 2), { maxLength: 2 }),
      tie('object'),
    ),
    object: fc
      .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', 'constructor', ''), tie('value')), { maxLength: 4 })
      .map((pairs) => Object.fromEntries(pairs)),
  }));
  const patched = fc.record({ target: json.value, patch: json.value });
  property('a merge is as RFC 7396 says, twice is once', 0.05, patched, ({ target, patch }) => {
    const merged = mergePatch(target, patch);
    deepStrictEqual(merged, mergeByTheBook(target, patch));
    deepStrictEqual(mergePatch(merged, patch), merged);
  });

  const apart = fc.record({ target: json.object, a: json.value, b: json.value });
  property('merges of different keys do so in any order', 0.02, apart, ({ target, a, b }) => {
    const first = mergePatch(mergePatch(target, { left: a }), { right: b });
    const second = mergePatch(mergePatch(target, { right: b }), { left: a });
    deepStrictEqual(first, second);
  });
});

/** Implements the pseudo-code of RFC 7396, section 2. */
function mergeByTheBook(target: unknown, patch: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(patch)) return patch;
  const result = isObject(target) ? Object.entries(target) : [];
  for (const [name, value] of Object.entries(patch)) {
    const at = result.findIndex(([known]) => known === name);
    const old = at < 0 ? undefined : result[at]?.[1];
    if (at >= 0) result.splice(at, 1);
    if (value !== null) result.push([name, mergeByTheBook(old, value)]);
  }
  return Object.fromEntries(result);
}

describe('5 the snapshot decides as the reference does', () => {
  property('compiled', 0.2, anyScene, ({ world, calls }) => {
    const wanted = reference.decideCalls(world, calls);
    tally.add(wanted, { world, calls });
    deepStrictEqual(subject.decideCalls(world, calls), wanted);
  });

  it('the cases contain at least 5 % of each class', { timeout }, () => {
    // The scenes of the property above, or as many new ones if that property did not run.
    for (const scene of fc.sample(anyScene, Math.max(0, 4_000 - tally.scenes)))
      tally.add(reference.decideCalls(scene.world, scene.calls), scene);
    expect(tally.scarce()).toEqual([]);
  });

  property('decoded from the wire', 0.03, anyScene, ({ world, calls }) => {
    const message = subject.throughWire(subject.messageOf(world));
    deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
  });

  property('taken after another', 0.03, fc.record({ scene: anyScene, other: anyScene }), ({ scene: { world, calls }, other }) => {
    const index = subject.indexAfter(subject.messageOf(other.world, 1), subject.messageOf(world, 2));
    deepStrictEqual(subject.decideBy(index, world, calls), reference.decideCalls(world, calls));
  });

  property('cut to what a library may hold', 0.04, anyScene, ({ world, calls }) => {
    for (const keyId of new Set(calls.map((call) => call.keyId))) {
      if (!world.keys.some(({ id }) => id === keyId)) continue;
      const own = calls.filter((call) => call.keyId === keyId);
      // The library knows no other member. It cannot distinguish an unknown user from a user whom its key is not
      // allowed to name.
      const known = (outcomes: readonly Outcome[]): unknown =>
        outcomes.map(({ code, ...rest }) => ({ ...rest, code: code === 'key_scope' ? 'identity_unknown' : code }));
      deepStrictEqual(
        known(subject.decideFrom(subject.libraryMessageOf(world, keyId), world, own)),
        known(reference.decideCalls(world, own)),
      );
    }
  });

  it('a snapshot restored from disk', { timeout }, async () => {
    const restored = fc.asyncProperty(anyScene, async ({ world, calls }) => {
      const message = await subject.throughDisk(subject.messageOf(world));
      deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
    });
    await fc.assert(restored, runs(0.005));
  });
});

describe('6 no name is special', () => {
  property('a scene under ordinary names is decided alike', 0.04, anyScene, ({ world, calls }) => {
    const ordinary = rename({ world, calls });
    for (const [, decide] of evaluators) {
      deepStrictEqual(decide(ordinary.world, ordinary.calls), decide(world, calls).map(renameOutcome));
    }
  });
});

describe('7 a decision is attributed to the most specific layer that holds it', () => {
  property('which enforces', 0.08, anyScene, ({ world, calls }) => {
    for (const [i, outcome] of subject.decideCalls(world, calls).entries()) {
      const call = calls[i];
      if (call !== undefined && outcome.rule !== null) checkWinner(world, call, outcome);
    }
  });
});

/** What a document says about one field in one way, with its place. */
interface Holder extends rules.Saying<unknown> {
  readonly place: Place;
}

/**
 * Returns what the enforcing documents set for one field at one hop, from broad to specific, without what a later
 * override replaced. Null: cases are undecided, so there are several ways.
 */
function holdersOf(world: World, call: Call, hop: number, field: 'permission' | 'rateLimit'): readonly Holder[] | null {
  const documents = spotsAt(world, call, hop).map(({ place, spots }) => {
    const said = [spots.ofKeys, spots.ofType].flatMap((of) => (field === 'permission' ? permissionIn(of) : limitsIn(of)));
    const holders = said.map((saying) => ({ ...saying, place, override: saying.override && !isSelf(place) }));
    return [...holders.filter(({ override }) => override), ...holders.filter(({ override }) => !override)];
  });
  if (spotsAt(world, call, hop).some(({ spots }) => [...spots.ofKeys, ...spots.ofType].some((spot) => rules.mayBe(spot).length > 1)))
    return null;
  const last = documents.findLastIndex((holders) => holders.some(({ override }) => override));
  return documents.slice(Math.max(0, last)).flat();
}

/** The rules of each enforcing document that match the call. */
function spotsAt(world: World, call: Call, hop: number): readonly { readonly place: Place; readonly spots: rules.Spots }[] {
  const principal = reference.principalsOf(world, call)[hop];
  if (principal === undefined) return [];
  return (placesOf(world, call)[hop] ?? []).flatMap((place) => {
    const document = readDocument(world, place);
    if (document === null || (document.mode ?? 'enforce') !== 'enforce') return [];
    return [{ place, spots: rules.spotsOf(document, call.tool, principal) }];
  });
}

const permissionIn = (spots: readonly rules.Spot[]): readonly rules.Saying<unknown>[] =>
  spots.map((spot) => rules.sayingsOf(spot, 'permission')).find((sayings) => sayings.some(({ value }) => value !== undefined)) ?? [];

function limitsIn(spots: readonly rules.Spot[]): readonly rules.Saying<unknown>[] {
  const first = spots.findIndex(({ rule }) => rule.rateLimit !== undefined);
  return (first < 0 ? spots : spots.slice(0, first + 1)).flatMap((spot) => {
    const { path, rule } = spot;
    const own = rule.rateLimit === undefined ? [] : [{ value: rule.rateLimit, path, override: rule.override === true }];
    const added = rules.mayBe(spot).flatMap((one) => {
      const named = `${path}.cases[${JSON.stringify(one?.name)}]`;
      return one?.rateLimit === undefined ? [] : [{ value: one.rateLimit, path: named, override: false }];
    });
    return [...own, ...added];
  });
}

const isSelf = (place: { readonly layer: string; readonly part?: string }): boolean => place.part === 'self';

/** What the rules say, of which an outcome is the consequence. */
const saidIn = ({ code, decision }: Outcome, { approved }: Call): readonly rules.Saying<unknown>['value'][] =>
  code === 'approval_pending' ? ['ask'] : decision === 'allow' && approved !== undefined ? ['ask', 'allow'] : [decision];

function checkWinner(world: World, call: Call, outcome: Outcome): void {
  const { code, rule } = outcome;
  const field = code === 'rate_limited' ? 'rateLimit' : 'permission';
  const hops = call.hops.map((_, hop) => holdersOf(world, call, hop, field));
  const named = JSON.stringify([rule?.layer, rule?.part ?? null, rule?.path]);
  const where = ({ place, path }: Pick<Holder, 'place' | 'path'>): string =>
    JSON.stringify([place.layer, 'part' in place ? place.part : null, path]);
  if (!hops.every((holders) => holders !== null)) {
    if (rule?.layer !== 'default') expect(mayHold(world, call, field, saidIn(outcome, call)).map(where)).toContain(named);
    return;
  }
  const deniesAlone = (holders: readonly Holder[]): boolean =>
    world.defaultPermission === 'deny' && !holders.some(({ value, place }) => value !== 'deny' && !isSelf(place));
  const saidAt = (holders: readonly Holder[]): unknown =>
    rules.strictestPermission([...holders.map(({ value }) => value), deniesAlone(holders) ? 'deny' : 'allow']);
  const said = rules.strictestPermission(hops.map(saidAt));
  if (code !== 'rate_limited') expect(saidIn(outcome, call)).toContain(said);
  const matching = hops.map((holders) => holders.filter(({ value }) => code === 'rate_limited' || value === said));
  if (code === 'rate_limited') {
    if (!matching.flat().some((holder) => where(holder) === named)) throw new Error(`no limit at ${named}`);
    return;
  }
  // The last hop that holds the value. A hop without any rule holds the built-in default.
  const at = hops.findLastIndex((holders) => saidAt(holders) === said);
  const winner = matching[at]?.at(-1);
  const wanted = winner === undefined ? JSON.stringify(['default', null, '']) : where(winner);
  deepStrictEqual(named, wanted);
}

/** Returns every place in an enforcing document that has a limit, or the permission, in some way. */
const mayHold = (
  world: World,
  call: Call,
  field: 'permission' | 'rateLimit',
  values: readonly unknown[],
): readonly Pick<Holder, 'place' | 'path'>[] =>
  call.hops.flatMap((_, hop) =>
    spotsAt(world, call, hop).flatMap(({ place, spots }) =>
      [spots.ofKeys, spots.ofType].flatMap((of) => {
        const said = field === 'rateLimit' ? limitsIn(of) : of.flatMap((spot) => rules.sayingsOf(spot, 'permission'));
        return said.filter(({ value }) => field === 'rateLimit' || values.includes(value)).map(({ path }) => ({ place, path }));
      }),
    ),
  );

describe('8 a longer chain is at most as permissive', () => {
  const unpinned = { tier: null, agent: null, client: null };
  const tierRule = fc.constantFrom('deny' as const, 'last_known' as const);
  const then = fc.record({ interactive: tierRule, subagent: tierRule, background: tierRule, api: tierRule });
  // In every fourth scene the control plane does not answer.
  const outage = fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: then });
  const delegated = fc.record({ scene: anyScene, outage }).map(({ scene: { world, calls }, outage }) => {
    const keys = world.keys.map((key) => ({ ...key, pins: unpinned }));
    // Rounds and money belong to a run, and each agent of a chain has its own run.
    const chains = distinct(calls.filter(({ hops }) => hops.length > 1).map((call) => without(call, 'rounds', 'spendCents')));
    if (outage === null) return { world: { ...world, keys }, calls: chains };
    const workspace = { ...world.workspace, outage: { maxStalenessSeconds: 3, then: outage } };
    return { world: { ...world, keys, workspace }, calls: chains.map((call) => ({ ...call, silentForMs: 4000 })) };
  });
  property('than its prefix', 0.08, delegated, ({ world, calls }) => {
    const prefixes = calls.map((call) => ({ ...call, hops: call.hops.slice(0, -1) }));
    for (const [name, decide] of evaluators) {
      const shorter = decide(world, prefixes);
      for (const [i, outcome] of decide(world, calls).entries()) {
        const prefix = shorter[i];
        if (prefix === undefined || prefix.stop !== null) continue;
        const problem = looserThan(outcome, prefix);
        if (problem !== null) throw new Error(`${name}, call ${i}: ${problem}`);
      }
    }
  });
});

it('the properties plan 20,000 cases', () => {
  expect(planned()).toBeGreaterThanOrEqual(cases);
});

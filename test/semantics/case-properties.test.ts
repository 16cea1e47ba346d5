// Properties of rules with cases, according to docs/design/semantics.md, checked over generated documents and calls.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapDocuments, mapRules, readDocument, without, writeDocument } from './edit.ts';
import { conditionArb, sceneOf } from './generate.ts';
import { atLeastAsStrict, cases, createProperties, createTally, distinct, evaluators, placeFor, runs, timeout } from './property.ts';
import * as reference from './reference.ts';
import * as rules from './reference-fold.ts';
import { looserThan } from './strictness.ts';
import * as subject from './subject.ts';
import { type Call, type Case, hidden, type Outcome, type World } from './world.ts';

const { property } = createProperties();
const weighted = sceneOf({ cases: 60, audit: 15, limit: 45 });

/** Only cases grant what the default denies. */
const granting = weighted.map(({ world, calls }) => {
  const silent = mapDocuments(world, (document) => mapRules(document, (rule) => without(rule, 'permission')));
  return { world: { ...silent, defaultPermission: 'deny' as const }, calls };
});

/** Wildcards set what the rules before them leave to their cases. */
const passing = weighted.map(({ world, calls }) => {
  const rule = { permission: 'allow', transform: 'log' } as const;
  const ofTiers = { interactive: rule, subagent: rule, background: rule, api: rule };
  const broad = { 'git.*': ofTiers, '__*': ofTiers, '🔥/*': ofTiers };
  const changed = mapDocuments(world, (document) => {
    const left = mapRules(document, (one, { key }) =>
      one.cases === undefined || key === null ? one : without(one, 'permission', 'transform'),
    );
    return left.tools === undefined ? left : { ...left, tools: { ...broad, ...left.tools } };
  });
  return { world: changed, calls };
});

const anyScene = fc.oneof({ weight: 3, arbitrary: weighted }, { weight: 1, arbitrary: granting }, { weight: 3, arbitrary: passing });

/** The codes of calls that policy decides. */
const byPolicy = ['allowed', 'policy_denied', 'rate_limited'];

/** The rules that match a call at any hop, by document. Empty: the call was denied before policy was read. */
function spotsFor(outcome: Outcome, call: Call, world: World): readonly (readonly rules.Spot[])[] {
  if (!byPolicy.includes(outcome.code)) return [];
  const known = spotsByOutcome.get(outcome);
  if (known !== undefined) return known;
  const found = reference.principalsOf(world, call).flatMap((principal) => {
    const user = world.users.find(({ uid }) => uid === principal.uid);
    const documents = [
      world.workspace,
      world.roles.find(([role]) => role === principal.role)?.[1],
      world.agentTypes.find(([type]) => type === principal.agentType)?.[1],
      user?.organisation,
    ];
    return documents.flatMap((document) => (document == null ? [] : [rules.spotsOf(document, call.tool, principal).ofKeys]));
  });
  spotsByOutcome.set(outcome, found);
  return found;
}

const spotsByOutcome = new WeakMap<Outcome, readonly (readonly rules.Spot[])[]>();

const someSpot =
  (holds: (spot: rules.Spot, later: readonly rules.Spot[]) => boolean) =>
  (outcome: Outcome, call: Call, world: World): boolean =>
    spotsFor(outcome, call, world).some((spots) => spots.some((spot, i) => holds(spot, spots.slice(i + 1))));

const isUndecided = (spot: rules.Spot): boolean => rules.mayBe(spot).length > 1;

/** A case sets a field that its rule leaves to a broader key, and the broader key sets it. */
const passesBy = (spot: rules.Spot, later: readonly rules.Spot[]): boolean =>
  (['permission', 'transform'] as const).some(
    (field) =>
      spot.rule[field] === undefined &&
      rules.mayBe(spot).some((one) => one?.[field] !== undefined) &&
      later.some((other) => other.path.includes('*"]') && rules.sayingsOf(other, field).some(({ value }) => value !== undefined)),
  );

const tally = createTally({
  'the first case is undecided': someSpot(({ truths }) => truths[0] === null),
  'a case between others is undecided': someSpot(({ truths }) => truths[0] === false && truths.slice(1, -1).includes(null)),
  'an undecided case before one that holds': someSpot((spot) => isUndecided(spot) && rules.mayBe(spot).at(-1) !== null),
  'an override with cases': someSpot((spot) => spot.rule.override === true && isUndecided(spot)),
  'a wildcard is passed by, because a case sets the field': someSpot(passesBy),
  'denied by default': (outcome, call, world) =>
    outcome.code === 'policy_denied' &&
    outcome.rule?.layer === 'default' &&
    spotsFor(outcome, call, world)
      .flat()
      .some(({ rule: { cases } }) => cases),
  'the limit of a case counts': ({ limits }) => limits.some(({ path }) => path.includes('.cases[')),
  'denied by a case': ({ code, rule }) => code === 'policy_denied' && rule?.path.includes('.cases[') === true,
  'both ways are equal': someSpot((spot) => isUndecided(spot) && rules.sayingsOf(spot, 'permission').length === 1),
});

const documentsWithCases = (world: World): number => {
  let found = 0;
  mapDocuments(world, (document) => {
    let has = false;
    mapRules(document, (rule) => {
      has ||= rule.cases !== undefined;
      return rule;
    });
    if (has) found += 1;
    return document;
  });
  return found;
};

/** A scene has four documents with cases on average, so that this share of the cases has as many documents as there are cases. */
const ofDocuments = 0.26;

describe('the snapshot decides as the reference does', () => {
  let documents = 0;

  property('compiled', ofDocuments, anyScene, (scene) => {
    const { world, calls } = scene;
    const wanted = reference.decideCalls(world, calls);
    tally.add(wanted, scene);
    documents += documentsWithCases(world);
    deepStrictEqual(subject.decideCalls(world, calls), wanted);
  });

  it('which holds for as many documents with cases as there are cases, and 5 % of the scenes are of each class', { timeout }, () => {
    // If the property above did not run, as many scenes are generated here.
    for (const scene of fc.sample(anyScene, tally.scenes > 0 ? 0 : runs(ofDocuments).numRuns)) {
      tally.add(reference.decideCalls(scene.world, scene.calls), scene);
      documents += documentsWithCases(scene.world);
    }
    expect(documents).toBeGreaterThanOrEqual(cases);
    expect(tally.scarce()).toEqual([]);
  });

  property('decoded from the wire', 0.03, anyScene, ({ world, calls }) => {
    const message = subject.throughWire(subject.messageOf(world));
    deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
  });

  const changed = fc.record({ scene: anyScene, other: anyScene });
  property('reached by a delta', 0.05, changed, ({ scene: { world, calls }, other }) => {
    const from = { ...world, workspace: other.world.workspace, roles: other.world.roles, users: other.world.users };
    deepStrictEqual(subject.decideBy(subject.indexByDelta(from, world), world, calls), reference.decideCalls(world, calls));
  });

  it('restored from disk', { timeout }, async () => {
    const restored = fc.asyncProperty(anyScene, async ({ world, calls }) => {
      const message = await subject.throughDisk(subject.messageOf(world));
      deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
    });
    await fc.assert(restored, runs(0.005));
  });
});

describe('a case that only tightens', () => {
  const tight: fc.Arbitrary<Omit<Case, 'name'>> = fc
    .record({ when: conditionArb, deny: fc.boolean(), redact: fc.boolean(), rateLimit: fc.option(fc.integer({ min: 0, max: 3 })) })
    .map(({ when, deny, redact, rateLimit }) => ({
      when,
      ...(deny && { permission: 'deny' as const }),
      ...(redact && { transform: 'redact' as const }),
      ...(rateLimit !== null && { rateLimit }),
    }));
  const added = fc.record({ scene: anyScene, place: fc.nat(100), one: tight, adds: fc.func(fc.boolean()) });
  property('loosens no call as the last case of a rule, also of a rule with override', 0.06, added, ({ scene, place: at, one, adds }) => {
    const place = placeFor(scene, at);
    const found = place === undefined ? null : readDocument(scene.world, place);
    if (place === undefined || found === null || ('part' in place && place.part === 'self')) return;
    const document = mapRules(found, (rule, where) =>
      adds(where) ? { ...rule, cases: [...(rule.cases ?? []), { name: 'last', ...one }] } : rule,
    );
    atLeastAsStrict(writeDocument(scene.world, place, document), scene.world, scene.calls);
  });
});

describe('what is undecided', () => {
  const shown = fc.func(fc.constantFrom<unknown>(undefined, 0, 1, 2, 'x', null));
  property(
    'is never looser than any input that the hidden fields may have',
    0.1,
    fc.record({ scene: anyScene, shown }),
    ({ scene, shown }) => {
      const calls = distinct(scene.calls);
      const completed = calls.map((call) => ({
        ...call,
        input: Object.fromEntries(
          Object.entries(call.input ?? {})
            .map(([field, value]) => [field, value === hidden ? shown(field) : value] as const)
            .filter(([, value]) => value !== undefined),
        ),
      }));
      for (const [name, decide] of evaluators) {
        const loose = decide(scene.world, completed);
        for (const [i, outcome] of decide(scene.world, calls).entries()) {
          const problem = loose[i] === undefined ? null : looserThan(outcome, loose[i]);
          if (problem !== null) throw new Error(`${name}, call ${i}: ${problem}`);
        }
      }
    },
  );
});

describe('a sidecar that does not know cases', () => {
  let documents = 0;

  property('never decides looser', ofDocuments, anyScene, ({ world, calls: made }) => {
    documents += documentsWithCases(world);
    const calls = distinct(made);
    const loose = subject.decideAlone(world, calls);
    for (const [i, outcome] of subject.decideAlone(world, calls, subject.loweredMessageOf(world, 'conditions')).entries()) {
      const problem = loose[i] === undefined ? null : looserThan(outcome, loose[i]);
      if (problem !== null) throw new Error(`call ${i}: ${problem}`);
    }
  });

  it('also for as many documents with cases', () => {
    expect(documents).toBeGreaterThanOrEqual(cases);
  });
});

describe('a list of tools', () => {
  /** The same world, in which nothing is known of any case. */
  const unknown = (world: World): World =>
    mapDocuments(world, (document) =>
      mapRules(document, (rule) =>
        rule.cases ? { ...rule, cases: rule.cases.map((one) => ({ ...one, when: 'args.missing == 1' })) } : rule,
      ),
    );
  property('shows the tools that some answer of the cases allows', 0.06, anyScene, ({ world, calls: made }) => {
    const calls = distinct(made);
    const shown = subject.showTools(world, calls);
    for (const [i, { code, decision }] of subject.decideAlone(world, calls).entries()) {
      const call = calls[i];
      if (call === undefined || !byPolicy.includes(code)) continue;
      deepStrictEqual(shown[i], reference.mayAllow(unknown(world), call));
      if (decision === 'allow') deepStrictEqual(shown[i], true);
    }
  });
});

// Properties of rules that ask a person, according to docs/design/semantics.md, checked over generated documents and calls.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapDocuments, mapRules, placesOf, readDocument, without, withToolRule, writeDocument } from './edit.ts';
import { type Scene, sceneOf } from './generate.ts';
import { createProperties, createTally, distinct, evaluators, pickFrom, runs, timeout } from './property.ts';
import * as reference from './reference.ts';
import * as rules from './reference-fold.ts';
import { looserThan } from './strictness.ts';
import * as subject from './subject.ts';
import type { Call, Outcome, World } from './world.ts';

const { property } = createProperties();

/** Rules ask often, and deny seldom, so that most questions are reached. */
const anyScene = fc.oneof(
  sceneOf({ ask: 60, deny: 2, override: 25, limit: 15, audit: 15 }),
  sceneOf({ ask: 60, deny: 2, override: 45, limit: 15, audit: 15, cases: 50 }),
);

const isAsked = ({ code }: Outcome): boolean => code === 'approval_pending';
const askedBy = (outcome: Outcome, document: RegExp): boolean => outcome.asks.some((one) => document.test(one));
/** The outcome is attributed to a rule that asks, whether it was approved or not. */
const wasApproved = ({ decision }: Outcome, { approved }: Call): boolean => decision === 'allow' && approved !== undefined;

/** Whether an undecided case of some rule that matches the call asks. */
const hasUndecidedAsk = (world: World, call: Call): boolean =>
  reference.principalsOf(world, call).some((principal) => {
    const documents = [world.workspace, world.roles.find(([role]) => role === principal.role)?.[1]];
    return documents.some(
      (document) =>
        document != null &&
        rules
          .spotsOf(document, call.tool, principal)
          .ofKeys.some((spot) => rules.mayBe(spot).length > 1 && rules.mayBe(spot).some((one) => one?.permission === 'ask')),
    );
  });

const tally = createTally({
  'asked by the workspace': (outcome) => askedBy(outcome, /^workspace /),
  'asked by a role': (outcome) => askedBy(outcome, /^role:/),
  'asked by an agent type': (outcome) => askedBy(outcome, /^agent-type:/),
  'asked by the organisation for a user': (outcome) => askedBy(outcome, /^user:[^ ]*:organisation /),
  'asked by a user for themselves': (outcome) => askedBy(outcome, /^user:[^ ]*:self /),
  'several that ask': ({ asks }) => asks.length > 1,
  'an override that asks': (outcome) => isAsked(outcome) && outcome.rule?.override === true,
  'an override of a question': ({ code, rule }, call, world) => code === 'allowed' && rule?.override === true && hasAsk(world, call),
  'asked by an undecided case': (outcome, call, world) => isAsked(outcome) && hasUndecidedAsk(world, call),
  'asked by a case': (outcome) => askedBy(outcome, /\.cases\[/),
  'asked in audit mode': ({ shadow }) => shadow?.decision === 'ask',
  'asked in a chain': (outcome, { hops }) => isAsked(outcome) && hops.length > 1,
  approved: (outcome, call, world) => wasApproved(outcome, call) && hasAsk(world, call),
  'approved in part': (outcome, { approved }) => isAsked(outcome) && approved === 'all but one' && outcome.asks.length > 1,
  'throttled before it is asked': ({ code }, call, world) => code === 'rate_limited' && hasAsk(world, call),
});

/** Whether some enforcing document has a rule that asks about the call. */
const hasAsk = (world: World, call: Call): boolean =>
  reference.principalsOf(world, call).some((principal, hop) =>
    (placesOf(world, call)[hop] ?? []).some((place) => {
      const document = readDocument(world, place);
      if (document === null || (document.mode ?? 'enforce') !== 'enforce') return false;
      const { ofKeys, ofType } = rules.spotsOf(document, call.tool, principal);
      return [...ofKeys, ...ofType].some((spot) => rules.sayingsOf(spot, 'permission').some(({ value }) => value === 'ask'));
    }),
  );

describe('the snapshot decides as the reference does', () => {
  property('compiled', 0.3, anyScene, (scene) => {
    const wanted = reference.decideCalls(scene.world, scene.calls);
    tally.add(wanted, scene);
    deepStrictEqual(subject.decideCalls(scene.world, scene.calls), wanted);
  });

  it('and 5 % of the scenes are of each class', { timeout }, () => {
    for (const scene of fc.sample(anyScene, Math.max(0, 1_500 - tally.scenes)))
      tally.add(reference.decideCalls(scene.world, scene.calls), scene);
    expect(tally.scarce()).toEqual([]);
  });

  property('decoded from the wire', 0.03, anyScene, ({ world, calls }) => {
    const message = subject.throughWire(subject.messageOf(world));
    deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
  });

  it('restored from disk', { timeout }, async () => {
    const restored = fc.asyncProperty(anyScene, async ({ world, calls }) => {
      const message = await subject.throughDisk(subject.messageOf(world));
      deepStrictEqual(subject.decideFrom(message, world, calls), reference.decideCalls(world, calls));
    });
    await fc.assert(restored, runs(0.005));
  });
});

/** The same calls, of which nothing is approved. */
const unapproved = (calls: readonly Call[]): readonly Call[] => distinct(calls.map((call) => without(call, 'approved')));

describe('a question', () => {
  property(
    'is between a denial and an allow, in every rule',
    0.1,
    fc.record({ scene: anyScene, at: fc.func(fc.boolean()) }),
    ({ scene, at }) => {
      const change = (to: 'allow' | 'deny', all: boolean): World =>
        mapDocuments(scene.world, (document) =>
          mapRules(document, (rule, place) => {
            const changed = <F extends { permission?: unknown; ask?: unknown }>(
              fields: F,
              of: string,
            ): F | (Omit<F, 'ask'> & { permission: typeof to }) =>
              fields.permission === 'ask' && (all || at(place, of)) ? { ...without(fields, 'ask'), permission: to } : fields;
            return { ...changed(rule, ''), ...(rule.cases && { cases: rule.cases.map((one) => changed(one, one.name)) }) };
          }),
        );
      const calls = unapproved(scene.calls);
      const [allowing, denying] = [change('allow', false), change('deny', false)];
      for (const [name, decide] of evaluators) {
        const [asked, allowed, denied] = [decide(scene.world, calls), decide(allowing, calls), decide(denying, calls)];
        for (const i of calls.keys()) {
          const outcomes = [asked[i], allowed[i], denied[i]] as const;
          if (outcomes[0] === undefined || outcomes[1] === undefined || outcomes[2] === undefined)
            throw new Error('a call was not decided');
          const problem = looserThan(outcomes[0], outcomes[1]) ?? looserThan(outcomes[2], outcomes[0]);
          if (problem !== null) throw new Error(`${name}, call ${i}: ${problem}`);
        }
      }
      // With every question taken as an allow, a call that is approved in all of them is decided alike.
      const agreed = scene.calls.map((call) => ({ ...call, approved: 'all' as const }));
      const plain = change('allow', true);
      const seen = ({ decision, code, transform, limits }: Outcome): unknown => ({ decision, code, transform, limits });
      deepStrictEqual(subject.decideAlone(scene.world, agreed).map(seen), subject.decideAlone(plain, agreed).map(seen));
    },
  );

  const written = fc.record({ scene: anyScene, call: fc.nat(100), place: fc.nat(100) });
  property(
    'of one enforcing layer is asked, unless something denies or overrides',
    0.05,
    written,
    ({ scene, call: callAt, place: placeAt }) => {
      const call = pickFrom(unapproved(scene.calls), callAt);
      if (call === undefined) return;
      const hops = placesOf(scene.world, call);
      const hop = placeAt % Math.max(1, hops.length);
      const place = pickFrom(hops[hop] ?? [], placeAt);
      const tier = reference.principalsOf(scene.world, call)[hop]?.tier;
      if (place === undefined || tier === undefined) return;
      const free = mapDocuments(scene.world, (document) => mapRules(document, (rule) => without(rule, 'override')));
      const document = { ...readDocument(free, place), mode: 'enforce' as const };
      const world = writeDocument(free, place, withToolRule(document, call.tool, tier, { permission: 'ask' }));
      const path = `tools[${JSON.stringify(call.tool)}].${tier}`;
      for (const [, decide] of evaluators) {
        const outcome: Outcome | undefined = decide(world, [call])[0];
        deepStrictEqual(outcome?.decision, 'deny');
        if (outcome !== undefined && isAsked(outcome)) expect(outcome.asks.some((one) => one.endsWith(` ${path}`))).toBe(true);
      }
    },
  );

  property('in audit mode is asked of no one, and its call is made', 0.05, anyScene, ({ world, calls }) => {
    const audited = mapDocuments(world, (document) => ({ ...document, mode: 'audit' }));
    for (const { code, asks, shadow } of subject.decideAlone(audited, unapproved(calls))) {
      expect(code).not.toBe('approval_pending');
      deepStrictEqual(asks, []);
      if (shadow !== null && shadow.decision === 'ask') expect(shadow.code).toBe('approval_pending');
    }
  });
});

describe('a sidecar that does not know approvals', () => {
  const lowered = (...lacks: readonly string[]) =>
    property(`and lacks ${lacks.join(' and ')} never decides looser, and asks no one`, 0.05, anyScene, ({ world, calls: made }: Scene) => {
      const calls = unapproved(made);
      const loose = subject.decideAlone(world, calls);
      for (const [i, outcome] of subject.decideAlone(world, calls, subject.loweredMessageOf(world, ...lacks)).entries()) {
        deepStrictEqual(outcome.asks, []);
        const problem = loose[i] === undefined ? null : looserThan(outcome, loose[i]);
        if (problem !== null) throw new Error(`call ${i}: ${problem}`);
      }
    });
  lowered('approvals');
  lowered('approvals', 'conditions');
});

// Checks that a simulation of recorded calls agrees with the reference, both for the current documents and for a draft.
import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseSimulation } from '../../control-plane/policies/rules/simulation.ts';
import { changes } from '../../control-plane/policies/evaluate/simulate.ts';
import { type SimulationResult, simulate } from '../../control-plane/policies/operations/simulate-policies.ts';
import { type Scene, sceneOf } from './generate.ts';
import * as reference from './reference.ts';
import { auditEntriesOf, stateOf } from './subject.ts';
import { caseCount } from '../support/case-count.ts';
import type { Call, World } from './world.ts';

const cases = Math.ceil(caseCount * 0.1);
const seed = process.env['TOLLGATE_TEST_SEED'];
const options = { numRuns: cases, ...(seed === undefined ? {} : { seed: Number(seed) }) };
const timeout = 300_000;

/** All of the organisation's documents of a world, as a draft. */
const draftOf = ({ workspace, roles, agentTypes, users }: World): object => ({
  workspacePolicy: workspace,
  rolePolicies: Object.fromEntries(roles),
  agentTypePolicies: Object.fromEntries(agentTypes),
  userPolicies: Object.fromEntries(users.map(({ uid, organisation }) => [uid, organisation])),
});

/** `world` with the organisation's documents of `other`. */
const redrafted = (world: World, other: World): World => {
  const uids = [...new Set([...world.users, ...other.users].map(({ uid }) => uid))];
  return {
    ...world,
    workspace: other.workspace,
    roles: other.roles,
    agentTypes: other.agentTypes,
    users: uids.map((uid) => ({
      uid,
      organisation: other.users.find((user) => user.uid === uid)?.organisation ?? null,
      self: world.users.find((user) => user.uid === uid)?.self ?? null,
    })),
  };
};

/** Returns the value with the field removed from every document. */
const without = <T>(value: T, field: string): T =>
  JSON.parse(JSON.stringify(value, (key, inner) => (key === field ? undefined : inner))) as T;

/** In half of the scenes, rules ask a person. */
const anyScenes = (): fc.Arbitrary<Scene> => fc.oneof({ weight: 2, arbitrary: scenes() }, { weight: 1, arbitrary: scenes({ ask: 25 }) });

/** Only a connected caller, its agents and its tool: no caps and no outage. */
const bare = ({ at, run, keyId, sub, hops, tool }: Call): Call => ({ at, run, keyId, sub, hops, tool });

interface RecordedEntry {
  readonly call: Call;
  readonly entry: Readonly<Record<string, unknown>>;
}

const recordsOf = ({ world, calls }: Scene): readonly RecordedEntry[] =>
  auditEntriesOf(world, calls).map((entry, at) => ({ call: calls[at] as Call, entry }));

async function simulated(world: World, recorded: readonly RecordedEntry[], draft: object): Promise<SimulationResult> {
  const entries = recorded.map(({ entry }, at) => ({
    id: String(at),
    ts: new Date(String(entry['ts'])),
    tool: String(entry['tool']),
    decision: entry['decision'] === 'allow' ? ('allow' as const) : ('deny' as const),
    agentName: String(entry['agentName']),
    sub: String(entry['sub']),
    fields: entry,
  }));
  const parsed = parseSimulation({ ...draft, since: '1970-01-01T00:00:00Z', until: '1971-01-01T00:00:00Z' }, new Date(0));
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const read = async () => ({ entries, rows: entries.length, after: null });
  for await (const line of simulate({ read, stopwatch: () => 0, requireStanding: async () => {} }, stateOf(world), world, parsed.value)) {
    if ('failure' in line) throw line.failure;
    if ('result' in line) return line.result;
  }
  throw new Error('there was no result');
}

const nothing = Object.fromEntries(changes.map((change) => [change, 0]));

/** Renames the uid that no document can name, because it has no policy to draft. */
const nameable = (scene: Scene): Scene =>
  JSON.parse(JSON.stringify(scene), (key, inner) => ((key === 'uid' || key === 'sub') && inner === '__proto__' ? 'zoe' : inner)) as Scene;
const scenes = (...shape: Parameters<typeof sceneOf>): fc.Arbitrary<Scene> => sceneOf(...shape).map(nameable);

it('a draft equal to the stored documents changes nothing, limits included', { timeout }, async () => {
  await fc.assert(
    fc.asyncProperty(anyScenes(), async (scene) => {
      const { newly, groups, entries } = await simulated(scene.world, recordsOf(scene), draftOf(scene.world));
      deepStrictEqual({ newly, groups, entries }, { newly: nothing, groups: [], entries: scene.calls.length });
    }),
    options,
  );
});

it('recorded sequences under fewer rules show no drift from the current documents, throttled calls included', { timeout }, async () => {
  let throttled = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(scenes({ limit: 55, audit: 0 }), scenes({ limit: 55, audit: 0, ask: 20 })), async (made) => {
      const scene = { ...made, calls: made.calls.map(bare).filter(({ hops }) => hops.length === 1) };
      const recorded = recordsOf(scene);
      throttled += recorded.filter(({ entry }) => entry['code'] === 'rate_limited').length;
      deepStrictEqual((await simulated(scene.world, recorded, {})).drift, 0);
    }),
    options,
  );
  expect(throttled).toBeGreaterThan(cases / 20);
});

it('without limits, the changes are those that the reference finds for each recorded call', { timeout }, async () => {
  const seen = { ...nothing };
  await fc.assert(
    fc.asyncProperty(anyScenes(), anyScenes(), async (made, other) => {
      const world = without(made.world, 'rateLimit');
      const draft = redrafted(world, without(other.world, 'rateLimit'));
      const recorded = recordsOf({ world, calls: made.calls.map(bare) });
      // Each call is simulated alone, so that every field that is reported only in part can be left out.
      for (const one of recorded) {
        const { newly, approximate, notPolicy, drift, asked } = await simulated(world, [one], draftOf(draft));
        if (approximate > 0) continue;
        const [was] = reference.decideCalls(world, [one.call]);
        const [is] = reference.decideCalls(draft, [one.call]);
        if (was === undefined || is === undefined) throw new Error('the reference decided nothing');
        if (notPolicy > 0) {
          deepStrictEqual(newly, nothing);
          continue;
        }
        const wanted = { ...nothing };
        const add = (change: string): void => void (wanted[change] = 1);
        const effectOf = ({ code, decision }: typeof was): string => (code === 'approval_pending' ? 'ask' : decision);
        const [from, to] = [effectOf(was), effectOf(is)];
        if (from !== to) add(to === 'allow' ? 'allowed' : to === 'ask' ? 'asked' : 'denied');
        else if (to !== 'deny' && was.transform !== is.transform) add(is.transform === 'redact' ? 'redacted' : 'unredacted');
        deepStrictEqual({ newly, drift, asked }, { newly: wanted, drift: 0, asked: to === 'ask' ? 1 : 0 });
        for (const change of changes) seen[change] = (seen[change] ?? 0) + newly[change];
      }
    }),
    options,
  );
  for (const change of ['denied', 'asked', 'allowed', 'redacted', 'unredacted'])
    expect([change, (seen[change] ?? 0) > 0]).toEqual([change, true]);
});

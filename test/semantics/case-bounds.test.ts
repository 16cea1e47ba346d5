// What is bounded in calls that cases decide: the evaluations of a call, and the memory for outcomes. Inputs choose both.
import { expect, test } from 'vitest';
import { bindCaller } from '../../sidecar/engine/decide/bind.ts';
import type { Caller } from '../../sidecar/engine/decide/caller.ts';
import type { CallFacts } from '../../sidecar/engine/decide/cases.ts';
import { decide } from '../../sidecar/engine/decide/decide.ts';
import type { Decision } from '../../sidecar/engine/decide/decision.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../sidecar/engine/limits/usage.ts';
import { indexAfter, messageOf } from './subject.ts';
import type { Case, Document, World } from './world.ts';

const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: 0 });
const pins = { tier: null, agent: null, client: null };

const worldOf = (documents: Pick<World, 'workspace'> & Partial<World>): World => ({
  frozen: false,
  defaultPermission: 'allow',
  windowSeconds: 60,
  roles: [],
  agentTypes: [],
  users: [],
  agents: [],
  members: [{ uid: 'ann', email: 'ann@example.com', role: 'member' }],
  keys: [{ id: 'key', scopes: ['govern'], uid: 'ann', role: 'member', pins }],
  servers: [],
  ...documents,
});

/** A caller of the kind that is stored, with its plans. */
function callerIn(world: World, hops = 1): Caller {
  const index = indexAfter(messageOf(world));
  const chain = Array.from({ length: hops }, (_, at) => ({ tier: 'api' as const, client: 'test', agent: `agent ${at}` }));
  const claim = { identity: { sub: 'ann', keyId: 'key' }, hops: chain };
  bindCaller(index, claim);
  return bindCaller(index, claim);
}

const factsOf = (args: unknown): CallFacts => ({ args, wallTime: 0, caseAnswers: null, approved: null });

const decided = (caller: Caller, tool: string, facts: CallFacts): Decision =>
  decide(caller, tool, usage, { connected: true, heardAt: 0 }, 0, undefined, facts);

/** Cases with different names. Their conditions do not hold. */
const casesOf = (count: number, fields: Partial<Case> = {}): readonly Case[] =>
  Array.from({ length: count }, (_, at) => ({ name: `case ${at}`, when: 'args.n == 1', ...fields }));

/** A document whose keys for this tool have so many cases in total, of which each key has 50 at most. */
function documentOf(count: number, more: Document = {}): Document {
  const keys = Array.from({ length: Math.ceil(count / 50) }, (_, at) => `${'a.'.repeat(at + 1)}*`);
  const tools = keys.map((key, at) => [key, { api: { cases: casesOf(Math.min(50, count - 50 * at), { permission: 'deny' }) } }] as const);
  return { ...more, tools: Object.fromEntries(tools) };
}

const tool = `${'a.'.repeat(10)}x`;

test('a call evaluates 200 cases, and those after them are undecided', () => {
  const within = decided(callerIn(worldOf({ workspace: documentOf(200) })), tool, factsOf({ n: 0 }));
  expect([within.decision, within.undecided]).toEqual(['allow', null]);
  const beyond = decided(callerIn(worldOf({ workspace: documentOf(201) })), tool, factsOf({ n: 0 }));
  expect(beyond.decision).toBe('deny');
  expect(beyond.undecided).toEqual([expect.objectContaining({ document: 'workspace', reason: 'budget' })]);
});

test('in a chain, only a condition that reads the agent is evaluated at each hop', () => {
  const cases = casesOf(50, { permission: 'deny' });
  const shared = callerIn(worldOf({ workspace: { defaults: { api: { cases } } } }), 10);
  expect(decided(shared, tool, factsOf({ n: 0 })).undecided).toBe(null);
  const ofAgent = cases.map((one) => ({ ...one, when: 'args.n == 1 && agent.name == "agent 1"' }));
  const apart = callerIn(worldOf({ workspace: { defaults: { api: { cases: ofAgent } } } }), 5);
  expect(decided(apart, tool, factsOf({ n: 0 })).undecided).toContainEqual(expect.objectContaining({ reason: 'budget' }));
});

test('cases in audit mode take no evaluations from those that are enforced', () => {
  const roles = [['member', { tools: { [tool]: { api: { cases: casesOf(1, { permission: 'deny' }) } } } }]] as const;
  const caller = callerIn(worldOf({ workspace: documentOf(200, { mode: 'audit' }), roles }));
  const { decision, shadow, undecided } = decided(caller, tool, factsOf({ n: 0 }));
  expect([decision, shadow?.decision]).toEqual(['allow', 'deny']);
  expect(undecided).toEqual([expect.objectContaining({ document: 'workspace', reason: 'budget' })]);
});

test('an entry names 16 undecided cases at most', () => {
  const { undecided } = decided(callerIn(worldOf({ workspace: documentOf(50) })), tool, factsOf({}));
  expect(undecided).toHaveLength(16);
});

test('a call that is decided again, because it waited, is not evaluated again', () => {
  const caller = callerIn(worldOf({ workspace: documentOf(1) }));
  let read = 0;
  const args = {
    get n() {
      read += 1;
      return 0;
    },
  };
  const facts = factsOf(args);
  const first = decided(caller, tool, facts);
  expect(decided(caller, tool, facts)).toBe(first);
  expect(read).toBe(1);
});

test('calls in which the same cases hold share one outcome', () => {
  const caller = callerIn(worldOf({ workspace: documentOf(1) }));
  const first = decided(caller, tool, factsOf({ n: 0 }));
  expect(decided(caller, tool, factsOf({ n: 5 }))).toBe(first);
  expect(decided(caller, tool, factsOf({ n: 1 }))).not.toBe(first);
});

test('a plan stores 32 outcomes at most, and decides the others alike', () => {
  const cases = Array.from({ length: 50 }, (_, at) => ({ name: `case ${at}`, when: `args.n == ${at}`, rateLimit: 1_000 + at }));
  const caller = callerIn(worldOf({ workspace: { defaults: { api: { cases } } } }));
  for (const round of [1, 2])
    for (const at of cases.keys()) {
      const { limits } = decided(caller, tool, factsOf({ n: at }));
      expect([round, limits.limits.map(({ max }) => max)]).toEqual([round, [1_000 + at]]);
    }
  expect(caller.plans.get(tool)?.cases?.outcomes.size).toBe(32);
});

test('outcomes with many limits count as the memory that they take', () => {
  const caller = callerIn(worldOf({ workspace: { defaults: { api: { cases: casesOf(50, { rateLimit: 1_000_000 }) } } } }));
  for (let at = 0; at < 1_000; at += 1) decided(caller, `tool.${at}`, factsOf({}));
  expect(caller.plans.size).toBeGreaterThan(0);
  expect(caller.plans.size).toBeLessThan(400);
});

// Checks that an explanation reports what the reference decides, also of calls through chains of agents, and names the agent
// and the rule that decided; and that each way that it names leads to an allow.
import { deepStrictEqual } from 'node:assert/strict';
import { parseAgentType, type Tier } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { explainCall } from '../../sidecar/engine/compile/explain.ts';
import { sceneOf } from './generate.ts';
import * as reference from './reference.ts';
import { stateOf } from './subject.ts';
import { caseCount } from '../support/case-count.ts';
import type { Call, Rule, UserDocument, World } from './world.ts';

const cases = Math.ceil(caseCount * 0.2);
const seed = process.env['TOLLGATE_TEST_SEED'];
const options = { numRuns: cases, ...(seed === undefined ? {} : { seed: Number(seed) }) };

/** The codes that an explanation covers. Other codes come from who calls or how, not from policy. */
const explained = [
  'allowed',
  'workspace_frozen',
  'agent_suspended',
  'agent_unknown',
  'agent_tools',
  'delegation_denied',
  'scope_missing',
  'policy_denied',
  'approval_pending',
  'rate_limited',
];

/** The codes that the rules decide. */
const ruled = ['allowed', 'policy_denied', 'approval_pending'];
/** What the samples have to contain. */
const wanted = [
  ...explained,
  ...explained.map((code) => `${code} in a chain`),
  // An allowed call is allowed by every agent, so the calling agent is the last one that does.
  ...['policy_denied', 'approval_pending', 'rate_limited'].map((code) => `${code} above`),
];

type Explanation = NonNullable<ReturnType<typeof explainCall>>;
type Change = Explanation['wouldAllow'][number][number];

type Agents = readonly { readonly agentType: string; readonly tier: Tier }[];

const agentsOf = (world: World, call: Call): Agents =>
  reference.principalsOf(world, call).map(({ agentType, tier }) => ({ agentType, tier }));

/**
 * Null where the call cannot be explained: it has no known caller, uses a name that several agents share, or has a client
 * that cannot be named. `agents`: the chain, root first.
 */
function explanationOf(world: World, call: Call, agents: Agents = agentsOf(world, call)): Explanation | null {
  const calling = agents.at(-1);
  if (calling === undefined) return null;
  for (const { agentType } of agents) {
    const name = parseAgentType(agentType)?.name;
    if (name === undefined || world.agents.filter((agent) => agent.name === name).length > 1) return null;
  }
  const above = agents.slice(0, -1);
  return explainCall(stateOf(world), world, { sub: call.sub, ...calling, ...(above.length === 0 ? {} : { above }), tool: call.tool });
}

/** Whether profiles can be changed so that they permit the chain: it is short enough, and has no agent twice. */
function isPossibleChain(world: World, call: Call): boolean {
  const names = agentsOf(world, call).map(({ agentType }) => parseAgentType(agentType)?.name ?? '');
  const known = names.filter((name) => world.agents.some((agent) => agent.name === name));
  return names.length <= 17 && new Set(known).size === known.length;
}

/**
 * Checks that the agents above are explained as if each had called alone, and that the last one that is as strict decides.
 * None does if the call is refused before the rules are read.
 */
function checkAbove(world: World, call: Call, { above = [], layers, enforced, reason }: Explanation): void {
  const alone = agentsOf(world, call).map((agent) => explanationOf(world, call, [agent]));
  deepStrictEqual(
    [...above.map((one) => one.layers), layers],
    alone.map((one) => one?.layers),
  );
  deepStrictEqual(
    above.map((one) => [one.enforced, one.shadow]),
    alone.slice(0, -1).map((one) => [one?.enforced, one?.shadow]),
  );
  const [code = ''] = reason.split(':', 1);
  const isLimit = code === 'rate_limited';
  const isRuled = isLimit || ruled.includes(code);
  const decided = alone.findLastIndex((one) =>
    isLimit ? one?.enforced.limits.some(({ rateLimit }) => rateLimit === 0) : one?.enforced.permission === enforced.permission,
  );
  deepStrictEqual(
    above.map(({ decides }) => decides === true),
    above.map((_, at) => isRuled && at === decided),
  );
}

const placeForm = /^(defaults|tools|agentTypes)(?:\[(".*")\])?\.(\w+)$/su;

/** Returns the document with the rule at the path changed. */
function withRule(document: UserDocument | null, path: string, edit: Rule): UserDocument {
  const [, section = '', quoted, tier = ''] = placeForm.exec(path) ?? [];
  if (section === '') throw new Error(`not a place: ${path}`);
  const tiersAt = (rules: UserDocument['defaults']) => {
    const found = rules !== undefined && Object.hasOwn(rules, tier) ? rules[tier] : {};
    return Object.fromEntries([...Object.entries(rules ?? {}), [tier, { ...found, ...edit }]]);
  };
  if (section === 'defaults') return { ...document, defaults: tiersAt(document?.defaults) };
  const key = String(JSON.parse(quoted ?? '""'));
  const places = (section === 'tools' ? document?.tools : document?.agentTypes) ?? {};
  const at = tiersAt(Object.hasOwn(places, key) ? places[key] : undefined);
  return { ...document, [section]: Object.fromEntries([...Object.entries(places), [key, at]]) };
}

function edited(world: World, { layer, part, document, path, change }: Change, tool: string): World {
  const agents = (edit: (agent: World['agents'][number]) => World['agents'][number]): World => ({
    ...world,
    agents: world.agents.map((agent) => (agent.name === document ? edit(agent) : agent)),
  });
  if (path === 'frozen') return { ...world, frozen: false };
  if (path === 'unknownAgents') return { ...world, workspace: { ...world.workspace, unknownAgents: 'allow' } };
  if (layer === 'agent') {
    if (path === 'suspended') return agents((agent) => ({ ...agent, suspended: false }));
    if (path === 'delegatable') return agents((agent) => ({ ...agent, delegatable: true }));
    if (path === 'canDelegate') return agents((agent) => ({ ...agent, canDelegate: true }));
    if (path === 'maxDelegationDepth') return agents((agent) => ({ ...agent, maxDelegationDepth: Number(/\d+/.exec(change)?.[0]) }));
    if (path === 'enabledTools') return agents((agent) => ({ ...agent, enabledTools: [...agent.enabledTools, tool] }));
    if (change.startsWith('add ')) return agents((agent) => ({ ...agent, scopes: [...agent.scopes, ...change.slice(4).split(', ')] }));
    // An agent that is not registered: the tool then requires less.
    return { ...world, servers: [] };
  }
  const edit: Rule = change.includes('rateLimit')
    ? { rateLimit: 1000 }
    : { permission: 'allow', ...(change.includes('override') ? { override: true as const } : {}) };
  const name = document.slice(document.indexOf(':') + 1);
  const set = (found: UserDocument | null): UserDocument => (path === 'mode' ? { ...found, mode: 'enforce' } : withRule(found, path, edit));
  const byName = <N extends string>(list: readonly (readonly [N, UserDocument])[]): readonly (readonly [N, UserDocument])[] => {
    const found = list.find(([one]) => one === name)?.[1] ?? null;
    return [...list.filter(([one]) => one !== name), [name as N, set(found)]];
  };
  switch (layer) {
    case 'workspace':
      return { ...world, workspace: set(world.workspace) };
    case 'role':
      return { ...world, roles: byName(world.roles) };
    case 'agent-type':
      return { ...world, agentTypes: byName(world.agentTypes) };
    case 'user': {
      const uid = name.slice(0, name.lastIndexOf(':'));
      const user = world.users.find((one) => one.uid === uid) ?? { uid, organisation: null, self: null };
      const changed = part === 'self' ? { ...user, self: set(user.self) } : { ...user, organisation: set(user.organisation) };
      return { ...world, users: [...world.users.filter((one) => one.uid !== uid), changed] };
    }
  }
}

/** An explanation assumes that each agent hands on everything that it has. */
const handingAll = (hops: Call['hops']): Call['hops'] => hops.map(({ tier, client, agent }) => ({ tier, client, agent }));

it('an explanation decides as the reference does, and every way that it names leads to an allow', { timeout: 300_000 }, () => {
  const seen = new Map<string, number>();
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  const holds = fc.property(fc.oneof(sceneOf(), sceneOf({ ask: 20 })), fc.boolean(), ({ world, calls }, denies) => {
    const scene: World = denies ? { ...world, defaultPermission: 'deny' } : world;
    for (const { at, run, keyId, sub, hops, tool } of calls) {
      const call: Call = { at, run, keyId, sub, hops: handingAll(hops), tool };
      const [outcome] = reference.decideCalls(scene, [call]);
      if (outcome === undefined || !explained.includes(outcome.code)) continue;
      const explanation = explanationOf(scene, call);
      if (explanation === null) continue;
      const { decision, reason, wouldAllow, asks = [] } = explanation;
      const isAsked = outcome.code === 'approval_pending';
      deepStrictEqual([decision, reason.split(':', 1)[0]], [isAsked ? 'ask' : outcome.decision, outcome.code]);
      deepStrictEqual(wouldAllow.length > 0, decision !== 'allow' && isPossibleChain(scene, call));
      checkAbove(scene, call, explanation);
      if (isAsked) deepStrictEqual(asks.map(({ document, path }) => `${document} ${path}`).toSorted(), outcome.asks);
      if (ruled.includes(outcome.code)) deepStrictEqual(explanation.enforced.attributedTo, outcome.rule);
      count(outcome.code);
      if (hops.length > 1) count(`${outcome.code} in a chain`);
      if (explanation.above?.some(({ decides }) => decides === true) === true) count(`${outcome.code} above`);
      for (const way of wouldAllow) {
        const after = way.reduce((made, change) => edited(made, change, tool), scene);
        const again = explanationOf(after, call);
        if (again?.decision !== 'allow') throw new Error(`${JSON.stringify(way)} leads to ${again?.reason ?? 'nothing'}`);
      }
    }
  });
  // A code that is rare in the generated worlds may be missing in one of some hundred samples. The loop then takes
  // another sample.
  for (let sample = 0; sample < 5 && wanted.some((code) => !seen.has(code)); sample++) fc.assert(holds, options);
  for (const code of wanted) expect([code, (seen.get(code) ?? 0) > 0]).toEqual([code, true]);
});

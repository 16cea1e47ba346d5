// Policy works without a control plane: from plain documents to entries to decisions, only by the entry of the package.
// `tollgate policy test` relies on this. The decisions are compared with those of the reference.
import { deepStrictEqual } from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  bindCaller,
  checkDocument,
  type Claim,
  compileSnapshot,
  createCounters,
  createRunUsage,
  type Decision,
  decide,
  explainCall,
  indexEntries,
  indexOf,
  parsePolicySet,
  type PolicyDefaults,
  type PolicyDocument,
  type PolicySource,
  type StoredDocument,
  type WorkspaceKey,
} from '@tollgate/sidecar/engine/compile';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sceneOf } from '../../../semantics/generate.ts';
import * as reference from '../../../semantics/reference.ts';
import type { Call, Outcome, World } from '../../../semantics/world.ts';

const scenes = 400;
const seed = process.env['TOLLGATE_TEST_SEED'];

const emptySource: PolicySource = {
  workspace: 'acme',
  workspaceId: '0'.repeat(32),
  epoch: 'offline',
  revision: 0,
  frozen: false,
  documents: [],
  agents: [],
  members: [],
  keys: [],
  servers: [],
};

const withHash = (key: Omit<WorkspaceKey, 'hash' | 'expiresAt'>): WorkspaceKey => ({
  ...key,
  hash: createHash('sha256').update(key.id).digest('hex'),
  expiresAt: null,
});

describe('generated documents', () => {
  function sourceOf(world: World): PolicySource {
    const stored = (id: StoredDocument['id'], document: PolicyDocument | null): readonly StoredDocument[] =>
      document === null ? [] : [{ id, document }];
    return {
      ...emptySource,
      frozen: world.frozen,
      documents: [
        ...stored({ layer: 'workspace' }, world.workspace),
        ...world.roles.flatMap(([role, document]) => stored({ layer: 'role', role }, document)),
        ...world.agentTypes.flatMap(([agentType, document]) => stored({ layer: 'agent-type', agentType }, document)),
        ...world.users.flatMap(({ uid, organisation, self }) => [
          ...stored({ layer: 'user', uid, part: 'organisation' }, organisation),
          ...stored({ layer: 'user', uid, part: 'self' }, self),
        ]),
      ],
      agents: world.agents,
      members: world.members,
      keys: world.keys.map(withHash),
      servers: world.servers.map((server) => ({ ...server, target: null, admitted: [] })),
    };
  }

  function decideOffline(source: PolicySource, defaults: PolicyDefaults, calls: readonly Call[]): readonly Decision[] {
    const index = indexEntries(compileSnapshot(source, defaults), source);
    const counters = createCounters(defaults.windowSeconds);
    const runs = new Map<string, ReturnType<typeof createRunUsage>>();
    return calls.map(({ at, run, keyId, sub, hops, tool, rounds = 0, spendCents, silentForMs }) => {
      const usage = runs.get(run) ?? createRunUsage(counters, { originSub: sub, startedAt: at });
      runs.set(run, usage);
      for (let round = 0; round < rounds; round++) usage.addRound();
      if (spendCents !== undefined) usage.addCost(spendCents);
      const caller = bindCaller(index, { identity: { sub, keyId }, hops });
      const decision = decide(caller, tool, usage, { connected: silentForMs === undefined, heardAt: at - (silentForMs ?? 0) }, at);
      usage.record(decision, at);
      return decision;
    });
  }

  /** The fields that both kinds of outcome have. */
  const seen = ({ decision, code, transform, storedTransform, rule, stop, retryAfterMs, outage, attempt }: Decision | Outcome) => ({
    decision,
    code,
    transform,
    storedTransform,
    stop,
    retryAfterMs,
    outage,
    attempt,
    rule: rule === null ? null : [rule.layer, rule.part ?? null, rule.path, rule.override ?? false],
  });

  test('are valid, and are decided as the reference decides them', { timeout: 120_000 }, () => {
    const codes = new Set<string>();
    fc.assert(
      fc.property(sceneOf(), ({ world, calls }) => {
        const source = sourceOf(world);
        const problems = source.documents.flatMap(({ id, document }) =>
          checkDocument(id.layer, id.layer === 'user' ? id.part : 'organisation', document),
        );
        deepStrictEqual(problems, []);
        const decisions = decideOffline(source, world, calls);
        deepStrictEqual(decisions.map(seen), reference.decideCalls(world, calls).map(seen));
        for (const { code } of decisions) codes.add(code);
      }),
      { numRuns: scenes, ...(seed === undefined ? {} : { seed: Number(seed) }) },
    );
    for (const code of ['allowed', 'policy_denied', 'rate_limited']) expect(codes).toContain(code);
  });
});

describe('a set of documents, as in a file', () => {
  const defaults: PolicyDefaults = { defaultPermission: 'deny', windowSeconds: 60 };
  const file = {
    workspacePolicy: {
      defaults: { api: { permission: 'allow', rateLimit: 2 } },
      tools: { 'shell.*': { api: { permission: 'deny' } } },
    },
    rolePolicies: { member: { tools: { 'git.push': { api: { permission: 'deny' } } } } },
    agentTypePolicies: { 'ci::api::builder': { tools: { 'git.push': { api: { permission: 'allow', override: true } } } } },
    userPolicies: { ann: { tools: { 'mail.send': { api: { transform: 'redact' } } } } },
  };

  function sourceOf(set: typeof file): PolicySource {
    const parsed = parsePolicySet(set);
    if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
    return {
      ...emptySource,
      documents: parsed.value.documents,
      members: [{ uid: 'ann', email: 'ann@example.com', role: 'member' }],
      keys: [withHash({ id: 'key', scopes: ['govern'], uid: 'ann', role: 'member', pins: { tier: null, agent: null, client: null } })],
    };
  }

  const claimOf = (agent: string): Claim => ({
    identity: { sub: 'ann', keyId: 'key' },
    hops: [{ client: 'ci', tier: 'api', agent }],
  });

  test('decides by workspace, role, agent type and user, and counts', () => {
    const index = indexOf(sourceOf(file), defaults);
    const usage = createRunUsage(createCounters(defaults.windowSeconds), { originSub: 'ann', startedAt: 0 });
    const call = (agent: string, tool: string): readonly unknown[] => {
      const decision = decide(bindCaller(index, claimOf(agent)), tool, usage, { connected: true, heardAt: 0 }, 0);
      usage.record(decision, 0);
      return [decision.code, decision.transform, decision.rule?.layer, decision.rule?.path];
    };
    expect(call('builder', 'shell.run').slice(0, 1)).toEqual(['policy_denied']);
    expect(call('other', 'git.push')).toEqual(['policy_denied', expect.anything(), 'role', 'tools["git.push"].api']);
    expect(call('builder', 'git.push')).toEqual(['allowed', 'log', 'agent-type', 'tools["git.push"].api']);
    expect(call('builder', 'mail.send')).toEqual(['allowed', 'redact', 'workspace', 'defaults.api']);
    expect(call('builder', 'mail.send')).toEqual(['rate_limited', expect.anything(), 'workspace', 'defaults.api']);
  });

  test('is explained without counting', () => {
    const question = { agentType: 'ci::api::builder', tier: 'api', tool: 'shell.run' } as const;
    expect(explainCall(sourceOf(file), defaults, { ...question, sub: 'ann' })).toMatchObject({
      decision: 'deny',
      enforced: { attributedTo: { layer: 'workspace', path: 'tools["shell.*"].api' } },
    });
    expect(explainCall(sourceOf(file), defaults, { ...question, sub: 'unknown' })).toBeNull();
  });

  test('returns each problem with its place', () => {
    const parsed = parsePolicySet({ workspacePolicy: { defaults: { api: { rateLimit: -1 } } }, rolePolicies: { boss: {} }, other: {} });
    expect('problems' in parsed ? parsed.problems.map(({ path }) => path) : []).toEqual([
      'other',
      'workspacePolicy.defaults.api.rateLimit',
      'rolePolicies.boss',
    ]);
  });

  test('is refused when it is indexed, if it was not checked', () => {
    const unchecked: readonly StoredDocument[] = [{ id: { layer: 'workspace' }, document: { defaults: { api: { rateLimit: -1 } } } }];
    expect(() => indexOf({ ...emptySource, documents: unchecked }, defaults)).toThrow(
      'every sidecar must accept the compiled entries, but the verification failed with entry_invalid',
    );
  });
});

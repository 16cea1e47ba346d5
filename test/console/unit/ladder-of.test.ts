// The ladder of a call: each layer that speaks, and the one that decided.
import { describe, expect, test } from 'vitest';
import type { CallAnswer, Explanation, Layer } from '../../../console/calls/answer.ts';
import { isDecidedByRule, ladderOf } from '../../../console/calls/ladder-of.ts';
import { answerOf, type Entry, entryOf } from './entries.ts';

const layerOf = (layer: Layer['layer'], document: string, more: Partial<Layer> = {}): Layer => ({
  layer,
  document,
  fields: [],
  path: '',
  mode: 'enforce',
  rule: {},
  ...more,
});

const permissionOf = (value: string, path = 'tools["crm.read"].api') => [{ field: 'permission', value, path }];

const workspace = layerOf('workspace', 'workspace', { path: 'tools["crm.read"].api', fields: permissionOf('deny') });
const silentRole = layerOf('role', 'role:member');

function explanationOf(layers: readonly Layer[], more: Partial<Explanation> = {}): Explanation {
  const says = {
    permission: 'deny',
    transform: 'log',
    rateLimit: null,
    limits: [],
    attributedTo: { layer: 'workspace', path: 'tools["crm.read"].api' },
  } as const satisfies Explanation['enforced'];
  return {
    decision: 'deny',
    reason: 'policy_denied: the workspace denies it',
    enforced: says,
    shadow: says,
    layers: [...layers],
    remedies: [],
    wouldAllow: [],
    ...more,
  };
}

const denied = (more: Partial<Entry> = {}): Entry =>
  entryOf('r1', {
    decision: 'deny',
    code: 'policy_denied',
    rule: { layer: 'workspace', path: 'tools["crm.read"].api', revision: 3 },
    ...more,
  });

const ladder = (explanation: Explanation | null, entry: Entry = denied(), more: Partial<CallAnswer> = {}) =>
  ladderOf(answerOf('r1', { explanation, before: entry, ...more }));

describe('the ladder of a call', () => {
  test('each layer is a rung, in the order of the explanation; the one of the entry won', () => {
    const { rungs, isDecidedHere, together } = ladder(
      explanationOf([workspace, silentRole, layerOf('agent-type', 'agent-type:a::api::b')]),
    );
    expect(rungs.map(({ layer, whose, permission, won }) => [layer, whose, permission, won])).toEqual([
      ['workspace', '', 'deny', true],
      ['role', 'member', null, false],
      ['agent-type', 'a::api::b', null, false],
    ]);
    expect([isDecidedHere, together?.permission]).toEqual([true, 'deny']);
  });

  test('the rule of a case, and of a limit, is found in its document', () => {
    const path = 'tools["crm.read"].api.cases["all"]';
    const cased = { ...workspace, fields: [], cases: [{ path, result: 'holds' as const, sets: { permission: 'deny' as const } }] };
    expect(ladder(explanationOf([cased, silentRole]), denied({ rule: { layer: 'workspace', path, revision: 3 } })).rungs[0]?.won).toBe(
      true,
    );
    const limited = layerOf('role', 'role:member', {
      path: 'tools["crm.read"]',
      fields: [{ field: 'rateLimit', value: 4, path: 'tools["crm.read"].api' }],
    });
    const { rungs } = ladder(
      explanationOf([workspace, limited]),
      denied({ code: 'rate_limited', rule: { layer: 'role', path: 'tools["crm.read"].api', revision: 3 } }),
    );
    expect(rungs.map(({ won }) => won)).toEqual([false, true]);
    expect(rungs[1]?.says).toHaveLength(1);
  });

  test('a call that no rule decided has no winner', () => {
    for (const code of ['workspace_frozen', 'agent_suspended', 'cap_exceeded', 'call_malformed']) {
      const { rungs, isDecidedHere } = ladder(explanationOf([workspace]), denied({ code }));
      expect([isDecidedHere, rungs.some(({ won }) => won)]).toEqual([false, false]);
    }
    for (const code of ['allowed', 'policy_denied', 'rate_limited', 'approval_pending', 'approval_denied', 'redaction_unsupported'])
      expect(isDecidedByRule(denied({ code }))).toBe(true);
  });

  test('a call that only the built-in default decided begins with it', () => {
    const attributedTo = { layer: 'default', path: '' } as const;
    const said = explanationOf([layerOf('workspace', 'workspace')]);
    const { rungs } = ladder(
      { ...said, enforced: { ...said.enforced, attributedTo } },
      denied({ rule: { layer: 'default', path: '', revision: 3 } }),
    );
    expect(rungs.map(({ layer, won }) => [layer, won])).toEqual([
      ['default', true],
      ['workspace', false],
    ]);
  });

  test('a document in audit mode that would decide otherwise is marked, and has not won', () => {
    const fields = permissionOf('deny');
    const audited = layerOf('agent-type', 'agent-type:a::api::b', { mode: 'audit', path: 'tools["crm.read"].api', fields });
    const allowing = { ...workspace, fields: permissionOf('allow') };
    const said = explanationOf([allowing, audited]);
    const shadow = { ...said.shadow, attributedTo: { layer: 'agent-type', path: 'tools["crm.read"].api' } } as const;
    const allowed = entryOf('r1', { rule: { layer: 'workspace', path: 'tools["crm.read"].api', revision: 3 } });
    const { rungs } = ladder({ ...said, enforced: { ...said.enforced, permission: 'allow' }, shadow }, allowed);
    expect(rungs.map(({ layer, won, wouldWin, isAuditOnly }) => [layer, won, wouldWin, isAuditOnly])).toEqual([
      ['workspace', true, false, false],
      ['agent-type', false, true, true],
    ]);
  });

  test('of two parts of a user that say nothing one is shown; one that says something is shown too', () => {
    const parts = (own: readonly Layer['fields'][number][]) => [
      workspace,
      layerOf('user', 'user:mia:organisation', { part: 'organisation' }),
      layerOf('user', 'user:mia:self', { part: 'self', fields: [...own] }),
    ];
    const users = (layers: readonly Layer[]) =>
      ladder(explanationOf(layers)).rungs.flatMap(({ layer, part, whose }) => (layer === 'user' ? [[part, whose]] : []));
    expect(users(parts([]))).toHaveLength(1);
    expect(users(parts(permissionOf('ask'))).map(([part]) => part)).toContain('self');
    expect(users(parts([]))[0]?.[1]).toBe('mia');
  });

  test('each agent above has its own layers, and the layer that decided is of the agent that the explanation names', () => {
    const path = 'tools["crm.read"].subagent';
    const typeOf = (name: string, permission: string) =>
      layerOf('agent-type', `agent-type:a::subagent::${name}`, { path, fields: permissionOf(permission, path) });
    const says = explanationOf([]).enforced;
    const aboveOf = (name: string, permission: string, decides: boolean): NonNullable<Explanation['above']>[number] => ({
      agentType: `a::subagent::${name}`,
      tier: 'subagent',
      enforced: says,
      shadow: says,
      layers: [workspace, typeOf(name, permission)],
      ...(decides ? { decides: true } : {}),
    });
    const said = explanationOf([workspace, typeOf('leaf', 'allow')], {
      above: [aboveOf('root', 'allow', false), aboveOf('middle', 'deny', true)],
    });
    const entry = denied({ rule: { layer: 'agent-type', path, revision: 3 } });
    const { above, rungs } = ladder(said, entry);
    expect(above.map(({ agentType, decided, rungs: own }) => [agentType, decided, own.map(({ won }) => won)])).toEqual([
      ['a::subagent::root', false, [false, false]],
      ['a::subagent::middle', true, [false, true]],
    ]);
    expect(rungs.map(({ won }) => won)).toEqual([false, false]);
    // Without a mark it is of the caller.
    const own = ladder({ ...said, above: [aboveOf('root', 'deny', false)] }, entry);
    expect([own.above[0]?.decided, own.rungs.map(({ won }) => won)]).toEqual([false, [false, true]]);
  });

  test('the rule of the entry, if no layer of the explanation has it, is added', () => {
    const entry = denied({ rule: { layer: 'agent-type', path: 'tools["crm.read"].subagent', revision: 3 } });
    const { rungs } = ladder(explanationOf([workspace]), entry);
    expect(rungs.map(({ layer, won, path }) => [layer, won, path])).toEqual([
      ['workspace', false, 'tools["crm.read"].api'],
      ['agent-type', true, 'tools["crm.read"].subagent'],
    ]);
  });

  test('without an explanation only the rule of the entry is known; without an entry nothing', () => {
    expect(ladder(null).rungs).toMatchObject([{ layer: 'workspace', permission: 'deny', won: true }]);
    expect(ladder(null, entryOf('r1')).rungs).toEqual([]);
    expect(ladderOf({ ...answerOf('r1', {}), before: null, after: null })).toEqual({
      above: [],
      rungs: [],
      isDecidedHere: false,
      together: null,
    });
  });
});

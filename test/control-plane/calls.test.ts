// One call by its request id: its entries, its explanation at its revision, its approval, its trace and its session.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditEntry } from '@tollgate/proto/contract';
import { askApproval } from '../../control-plane/approvals/operations/ask.ts';
import { askOf, callOf } from '../support/approvals.ts';
import { type Answer, createRest, errorOf, field, operatorKey, type Rest } from './rest.ts';
import { entry, records, ship, workspaceIdOf } from './spool.ts';

let rest: Rest;
let epoch = '';
let auditor = '';
beforeAll(async () => {
  rest = await createRest({
    config: { publicUrl: null, operatorKey, patchPerMinute: 30, hookStatus: 'decision', traceUrl: 'https://traces.test/t/{traceId}?x=1' },
  });
  const { rows } = await rest.pool.query<{ epoch: string }>('select epoch from deployment');
  epoch = rows[0]?.epoch ?? '';
  await rest.keyOf('member', ['*'], 'ann');
  auditor = await rest.keyOf('member', ['admin.audit.read'], 'max');
});
afterAll(() => rest.close());

const admin = '/acme/admin';
const tool = 'github.delete_repo';
let spools = 0;

/** Ships entries through a spool of their own. */
async function shipped(entries: readonly Partial<AuditEntry>[], slug = 'acme'): Promise<void> {
  spools += 1;
  await ship(
    rest,
    spools.toString(16).padStart(32, '0'),
    records(1, entries.length, (n) => entry({ epoch, tool, ...entries[n - 1] })),
    slug,
  );
}

const show = (requestId: string, key = rest.owner, query = ''): Promise<Answer> =>
  rest.ask('GET', `${admin}/calls/${encodeURIComponent(requestId)}${query}`, { key });

interface Shown {
  readonly before: { readonly id: string; readonly ts: string } | null;
  readonly after: { readonly id: string } | null;
  readonly more: number;
  readonly explanation: { readonly decision: string; readonly reason: string; readonly layers: readonly object[] } | null;
  readonly explainedAt: { readonly revision: number; readonly isCurrent: boolean } | null;
  readonly unexplained: string | null;
  readonly approval: { readonly id: string } | null;
  readonly trace: { readonly traceId: string; readonly url: string | null } | null;
  readonly session: {
    readonly calls: readonly { readonly requestId: string; readonly outcome: string }[];
    readonly more: boolean;
  } | null;
}

async function shown(requestId: string, key = rest.owner, query = ''): Promise<Shown> {
  const answer = await show(requestId, key, query);
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body as Shown;
}

async function put(path: string, body: object): Promise<number> {
  const { status, body: answer } = await rest.ask('PUT', `${admin}/${path}`, { body });
  expect(status).toBe(200);
  return (answer as { readonly revision: number }).revision;
}

async function removeWorkspacePolicy(): Promise<number> {
  const { status, body } = await rest.ask('DELETE', `${admin}/workspacePolicy`);
  expect(status).toBe(200);
  return (body as { readonly revision: number }).revision;
}

test('a call has the entry of its decision, that of its output, and nothing of other calls', async () => {
  await shipped([
    { requestId: 'whole', ts: '2026-06-25T12:00:01.000Z' },
    { requestId: 'other', ts: '2026-06-25T12:00:01.000Z' },
    { requestId: 'whole', hookEvent: 'PostToolUse', ts: '2026-06-25T12:00:02.000Z' },
  ]);
  expect(await shown('whole')).toMatchObject({
    requestId: 'whole',
    before: { hookEvent: 'PreToolUse' },
    after: { hookEvent: 'PostToolUse' },
    more: 0,
  });
  expect(await shown('other')).toMatchObject({ after: null });
});

test('an output that arrives before its decision is shown alone, and says why there is no explanation', async () => {
  await shipped([{ requestId: 'late', hookEvent: 'PostToolUse' }]);
  expect(await shown('late')).toMatchObject({ before: null, explanation: null, unexplained: 'the entry of the decision is not kept' });
});

test('of several calls with one id the newest is shown, or the one at a time, and the others are counted', async () => {
  const at = (minute: number): string => `2026-06-25T12:0${minute}:00.000Z`;
  await shipped([1, 2, 3].map((minute) => ({ requestId: 'again', ts: at(minute) })));
  expect(await shown('again')).toMatchObject({ before: { ts: at(3) }, more: 2 });
  expect(await shown('again', rest.owner, `?at=${at(2)}`)).toMatchObject({ before: { ts: at(2) }, more: 2 });
  expect(await shown('again', rest.owner, '?at=2026-06-24T12:02:00Z')).toMatchObject({ before: { ts: at(1) } });
  expect((await show('again', rest.owner, '?at=2026-06-20T12:02:00Z')).status).toBe(404);
  expect(errorOf(await show('again', rest.owner, '?at=yesterday'))).toContain('ISO 8601');
  expect((await show('again', rest.owner, '?from=1')).status).toBe(400);
});

test('the explanation is by the documents of the revision at which the call was decided', async () => {
  const denying = await put('workspacePolicy', { tools: { [tool]: { api: { permission: 'deny' } } } });
  await shipped([{ requestId: 'then', revision: denying, decision: 'deny', code: 'policy_denied' }]);
  expect(await shown('then')).toMatchObject({
    explanation: { decision: 'deny', enforced: { attributedTo: { layer: 'workspace' } } },
    explainedAt: { revision: denying, isCurrent: true },
    unexplained: null,
  });
  // A change that does not apply to the call leaves it as it is.
  await put('rolePolicies/owner', { tools: { [tool]: { api: { permission: 'allow' } } } });
  expect(await shown('then')).toMatchObject({ explainedAt: { isCurrent: true } });
  const allowing = await removeWorkspacePolicy();
  expect(await shown('then')).toMatchObject({ explanation: { decision: 'deny' }, explainedAt: { revision: denying, isCurrent: false } });
  await shipped([{ requestId: 'now', revision: allowing }]);
  expect(await shown('now')).toMatchObject({ explanation: { decision: 'allow' }, explainedAt: { revision: allowing, isCurrent: true } });
});

test('a member’s own part of that revision applies too, and the role that the member had', async () => {
  const own = await rest.keyOf('member', ['*'], 'ann');
  const { body } = await rest.ask('PUT', `${admin}/userPolicies/ann`, {
    key: own,
    body: { tools: { [tool]: { api: { permission: 'deny' } } } },
  });
  const { revision } = body as { readonly revision: number };
  await shipped([{ requestId: 'own', revision, decision: 'deny', code: 'policy_denied', role: 'admin' }]);
  await rest.ask('DELETE', `${admin}/userPolicies/ann`, { key: own });
  const { explanation, explainedAt } = await shown('own');
  expect(explanation?.decision).toBe('deny');
  expect(explanation?.layers).toContainEqual(expect.objectContaining({ document: 'user:ann:self', mode: 'enforce' }));
  expect(explanation?.layers).toContainEqual(expect.objectContaining({ document: 'role:admin' }));
  expect(explainedAt).toEqual({ revision, isCurrent: false, isWhole: true });
});

test('cases are evaluated for the recorded input, and what redaction hides of it is undecided', async () => {
  const revision = await put('workspacePolicy', {
    tools: {
      [tool]: {
        api: {
          permission: 'allow',
          cases: [
            { name: 'big', when: 'args.amount > 100', permission: 'deny' },
            { name: 'to', when: 'args.to == "x"', permission: 'deny' },
          ],
        },
      },
    },
  });
  await shipped([{ requestId: 'cased', revision, input: { amount: 500, to: '[redacted:email#1]' } }]);
  const { explanation } = await shown('cased');
  expect(explanation?.decision).toBe('deny');
  expect(explanation?.layers[0]).toMatchObject({ cases: [{ result: 'holds' }, { result: 'undecided', reason: 'hidden' }] });
  await removeWorkspacePolicy();
});

test('a call through a chain of agents has the layers of each agent, by the policy of its revision, and names the one that decided', async () => {
  const rootType = 'claude-code::api::root';
  await put(`agentTypePolicies/${encodeURIComponent('claude-code::api::bot')}`, { tools: { [tool]: { api: { permission: 'allow' } } } });
  const revision = await put(`agentTypePolicies/${encodeURIComponent(rootType)}`, { tools: { [tool]: { api: { permission: 'deny' } } } });
  const chained = {
    revision,
    decision: 'deny',
    code: 'policy_denied',
    chain: ['root', 'bot'],
    depth: 1,
    sub: 'agent:1',
    originSub: 'ann',
  } as const;
  await shipped([
    { requestId: 'chained', ...chained, chainClaimed: true },
    { requestId: 'observed', ...chained },
  ]);
  await rest.ask('DELETE', `${admin}/agentTypePolicies/${encodeURIComponent(rootType)}`);
  const { explanation, explainedAt } = await shown('chained');
  expect(explanation).toMatchObject({
    decision: 'deny',
    enforced: { permission: 'deny', attributedTo: { layer: 'agent-type', path: `tools["${tool}"].api` } },
    above: [{ agentType: rootType, tier: 'api', decides: true, enforced: { permission: 'deny' } }],
  });
  expect(Object(explanation).above[0].layers).toContainEqual(
    expect.objectContaining({ document: `agent-type:${rootType}`, mode: 'enforce', rule: { permission: 'deny' } }),
  );
  expect(explanation?.layers).toContainEqual(
    expect.objectContaining({ document: 'agent-type:claude-code::api::bot', rule: { permission: 'allow' } }),
  );
  expect(Object(explanation).wouldAllow[0]).toEqual([
    expect.objectContaining({ document: `agent-type:${rootType}`, change: 'set permission "allow"' }),
  ]);
  // The document of the agent above is gone, so what applies to the call is not the same today.
  expect(explainedAt).toEqual({ revision, isCurrent: false, isWhole: true });
  // A chain that a sidecar observed has no tiers and clients of the agents above.
  expect((await shown('observed')).explainedAt).toEqual({ revision, isCurrent: false, isWhole: false });
  await rest.ask('DELETE', `${admin}/agentTypePolicies/${encodeURIComponent('claude-code::api::bot')}`);
});

test('a chain that is longer than any that may call has no explanation', async () => {
  await shipped([
    {
      requestId: 'deep',
      chain: Array.from({ length: 18 }, (_, n) => `a${n}`),
      depth: 17,
      originSub: 'ann',
      sub: 'agent:1',
      chainClaimed: true,
    },
  ]);
  expect(await shown('deep')).toMatchObject({ explanation: null, unexplained: expect.stringContaining('does not name the caller') });
});

test('a call of a frozen workspace is explained as such, although the workspace is not frozen any more', async () => {
  await shipped([{ requestId: 'frozen', revision: 1, decision: 'deny', code: 'workspace_frozen' }]);
  expect(await shown('frozen')).toMatchObject({ explanation: { decision: 'deny', reason: expect.stringContaining('workspace_frozen') } });
});

test.each([
  ['another epoch', { epoch: 'before' }, 'restored from a backup'],
  ['a revision that is not reached', { revision: 999_999 }, 'has not reached'],
  ['a caller without a role', { role: '' as const, sub: 'ghost' }, 'does not name the caller'],
])('without an explanation it says why: %s', async (name, fields, why) => {
  await shipped([{ requestId: `un-${name}`, ...fields }]);
  const { explanation, explainedAt, unexplained } = await shown(`un-${name}`);
  expect([explanation, explainedAt]).toEqual([null, null]);
  expect(unexplained).toContain(why);
});

test('who may read the entry but not explain the call gets the entry, and the reason', async () => {
  await shipped([{ requestId: 'seen' }]);
  expect(await shown('seen', auditor)).toMatchObject({
    before: { requestId: 'seen' },
    explanation: null,
    unexplained: expect.stringContaining('lacks the scope policies.read'),
  });
  const reader = await rest.keyOf('member', ['admin.audit.read', 'policies.read'], 'max');
  expect((await shown('seen', reader)).unexplained).toContain('only owner or admin may do this for another member');
  await shipped([{ requestId: 'mine', sub: 'max', revision: 1 }]);
  expect(await shown('mine', reader)).toMatchObject({ explanation: { decision: 'allow' } });
  const blind = await rest.keyOf('member', ['policies.read'], 'max');
  expect((await show('mine', blind)).status).toBe(403);
});

test('the approval is there for those who may see it', async () => {
  const workspaceId = await workspaceIdOf(rest);
  const keyId = field(await rest.ask('POST', `${admin}/keys`, { body: { name: 'asks', scopes: ['govern'] } }), 'id');
  const call = callOf({ keyId, originSub: 'ann' });
  const asked = await askApproval(rest.deps, { workspaceId, onlyKey: null, onlySub: null, isLocal: false, owner: keyId }, askOf(call));
  if (asked.kind !== 'approval') throw new Error(asked.words);
  const { approvalId } = asked.approval;
  await shipped([{ requestId: 'asked', approval: { id: approvalId }, decision: 'deny', code: 'approval_pending' }]);
  expect((await shown('asked')).approval).toMatchObject({ id: approvalId, state: 'pending' });
  expect((await shown('asked', auditor)).approval).toBeNull();
  const outsider = await rest.keyOf('member', ['admin.audit.read', 'admin.approvals'], 'max');
  expect((await shown('asked', outsider)).approval).toBeNull();
  const concerned = await rest.keyOf('member', ['admin.audit.read', 'admin.approvals'], 'ann');
  expect((await shown('asked', concerned)).approval).toMatchObject({ id: approvalId });
  await shipped([{ requestId: 'false', approval: { id: "x'; --" } }]);
  expect((await shown('false')).approval).toBeNull();
});

test('the trace has a link by the configured URL, and an id that is no trace id makes none', async () => {
  await shipped([
    { requestId: 'traced', traceId: '0af7651916cd43dd8448eb211c80319c' },
    { requestId: 'untraced', traceId: '../../x' },
  ]);
  expect((await shown('traced')).trace).toEqual({
    traceId: '0af7651916cd43dd8448eb211c80319c',
    url: 'https://traces.test/t/0af7651916cd43dd8448eb211c80319c?x=1',
  });
  expect((await shown('untraced')).trace).toBeNull();
});

test('the session shows the calls around this one, at most 50, with their outcome', async () => {
  const at = (second: number): string => new Date(Date.parse('2026-06-25T13:00:00Z') + second * 1_000).toISOString();
  await shipped(
    Array.from({ length: 130 }, (_, n) => ({
      requestId: `s-${Math.floor(n / 2)}`,
      sessionId: 'long',
      ts: at(n),
      hookEvent: n % 2 === 0 ? ('PreToolUse' as const) : ('PostToolUse' as const),
    })),
  );
  const { session } = await shown('s-30');
  expect(session?.calls.map(({ requestId }) => requestId)).toEqual(Array.from({ length: 50 }, (_, n) => `s-${n + 5}`));
  expect(session?.more).toBe(true);
  expect((await shown('s-64')).session?.calls.at(-1)).toMatchObject({ requestId: 's-64' });
  expect((await shown('s-64')).session?.calls).toHaveLength(50);
  await shipped([
    { requestId: 'o-1', sessionId: 'short', ts: at(1), decision: 'deny', code: 'policy_denied' },
    { requestId: 'o-2', sessionId: 'short', ts: at(2), decision: 'deny', code: 'approval_expired' },
    { requestId: 'o-3', sessionId: 'short', ts: at(3), decision: 'deny', code: 'approval_denied' },
    { requestId: 'o-4', sessionId: 'short', ts: at(4), decision: 'deny', code: 'cap_tool_calls' },
    { requestId: 'o-5', sessionId: 'short', ts: at(5), transform: 'redact', findings: [{ kind: 'email', count: 1 }] },
    { requestId: 'o-6', sessionId: 'short', ts: at(6), transform: 'redact', chain: ['root', 'bot'] },
  ]);
  const { session: short } = await shown('o-3');
  expect(short?.calls.map(({ outcome }) => outcome)).toEqual(['deny', 'ask', 'deny', 'limit', 'redact', 'allow']);
  expect(short?.calls.at(-1)).toMatchObject({ chain: ['root', 'bot'], agent: 'bot' });
  expect(short?.more).toBe(false);
});

test('a request id can be any text that an address can hold, and every other is not found', async () => {
  const hostile = [
    'a/b/../c',
    '100%',
    '%2F',
    "'; drop table audit_entry; --",
    '日本\u202e語',
    'x'.repeat(2_000),
    '<script>',
    '__proto__',
    ' ',
  ];
  await shipped(hostile.map((requestId) => ({ requestId })));
  for (const requestId of hostile) expect((await shown(requestId)).before).toMatchObject({ requestId });
  for (const requestId of ['nothing', 'nul\0', 'x'.repeat(1_999), 'x'.repeat(8_000), 'request'])
    expect((await show(requestId)).status).toBe(404);
  expect((await rest.ask('GET', `${admin}/calls/%E0%A4%A`)).status).toBe(400);
  expect((await rest.ask('GET', `${admin}/calls/`)).status).toBe(404);
});

test('a call of another workspace is not found, although its id is known', async () => {
  await shipped([{ requestId: 'foreign' }], 'other');
  await shipped([{ requestId: 'both' }], 'other');
  await shipped([{ requestId: 'both', tool: 'ours' }]);
  expect((await show('foreign')).status).toBe(404);
  expect(await shown('both')).toMatchObject({ before: { tool: 'ours' }, more: 0 });
  expect((await rest.ask('GET', '/other/admin/calls/foreign')).status).toBe(403);
  expect((await rest.ask('GET', '/other/admin/calls/foreign', { key: rest.other })).status).toBe(200);
});

test('a caller that gives all calls one id makes no answer larger than the bound', async () => {
  await shipped(Array.from({ length: 400 }, () => ({ requestId: 'one' })));
  await shipped(Array.from({ length: 400 }, () => ({ requestId: 'one' })));
  await shipped(Array.from({ length: 400 }, () => ({ requestId: 'one' })));
  expect((await shown('one')).more).toBe(999);
});

test('entries are found by the index of their request id, in each partition', async () => {
  await rest.pool.query('analyze audit_entry');
  const { rows } = await rest.pool.query<{ 'QUERY PLAN': string }>(
    `explain select ts from audit_entry where hashtextextended(entry ->> 'requestId', workspace_id) = hashtextextended('whole', 1::bigint)
       and workspace_id = 1 and entry ->> 'requestId' = 'whole' limit 1000`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('hashtextextended');
  expect(plan).toMatch(/Index Scan|Bitmap Index Scan/);
  expect(plan).not.toContain('Seq Scan');
});

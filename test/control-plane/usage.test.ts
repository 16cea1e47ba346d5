// What is left of limits and caps, over HTTP, computed from entries as sidecars ship them.
import type { AuditEntry } from '@tollgate/proto/contract';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRest, type Rest } from './rest.ts';
import { entry, records, ship, spool } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const admin = '/acme/admin';
const noon = Date.parse('2026-06-25T12:00:00.000Z');
const at = (ms: number): string => new Date(noon + ms).toISOString();

interface Usage {
  readonly now: string;
  readonly asOf: string | null;
  readonly windowSeconds: number;
  readonly limits: readonly { readonly path: string; readonly sub: string; readonly used: number; readonly left: number }[];
  readonly uncertain: number;
  readonly caps: readonly { readonly sessionId: string; readonly toolCalls: number; readonly left: number }[];
  readonly spend: { readonly day: string; readonly users: readonly { readonly sub: string; readonly leftCents: number }[] };
  readonly truncated: boolean;
}

async function usage(query: Readonly<Record<string, string>> = {}, key = rest.owner): Promise<Usage> {
  const answer = await rest.ask('GET', `${admin}/usage?${new URLSearchParams(query).toString()}`, { key });
  expect(answer.status).toBe(200);
  return answer.body as Usage;
}

const put = async (path: string, body: object): Promise<void> => {
  expect((await rest.ask('PUT', `${admin}/${path}`, { body })).status).toBe(200);
};

let spools = 0;
const recordCalls = async (calls: readonly Partial<AuditEntry>[]): Promise<void> => {
  const id = spool('0123456789abcdef'[spools++ % 16] ?? 'f');
  await ship(
    rest,
    id,
    records(1, calls.length, (n) => entry({ ts: at(-1000), ...calls[n - 1] })),
  );
};
const repeated = (count: number, call: Partial<AuditEntry> = {}): readonly Partial<AuditEntry>[] =>
  Array.from({ length: count }, () => call);
const denied = (code: AuditEntry['code']): Partial<AuditEntry> => ({ decision: 'deny', code, decisionReason: `${code}: …` });

test('without entries', async () => {
  const spend = { day: '2026-06-25', resetsAt: '2026-06-26T00:00:00.000Z', capCents: 5_000, users: [] };
  const approvals = { day: spend.day, resetsAt: spend.resetsAt, users: [] };
  const nothing = { asOf: null, limits: [], uncertain: 0, caps: [], spend, approvals, truncated: false };
  expect(await usage()).toEqual({ now: at(0), windowSeconds: 60, ...nothing });
});

describe('limits', () => {
  test('count a call in the limit of the case that it was, by its recorded input', async () => {
    const cases = [
      { name: 'large', when: 'args.amount > 1000', rateLimit: 2 },
      { name: 'noted', when: 'args.amount > 100', rateLimit: 5 },
    ];
    await put('workspacePolicy', { tools: { 'pay.*': { api: { rateLimit: 10, cases } } } });
    const pay = (input: unknown): Partial<AuditEntry> => ({ tool: 'pay.send', input });
    await recordCalls([pay({ amount: 5_000 }), pay({ amount: 500 }), pay({ amount: 500 }), pay({ amount: 5 })]);
    const place = 'tools["pay.*"].api';
    const found = await usage();
    expect(found).toMatchObject({ uncertain: 0 });
    expect(found.limits).toMatchObject([
      { path: `${place}.cases["large"]`, rateLimit: 2, tier: 'api', used: 1, left: 1 },
      { path: `${place}.cases["noted"]`, rateLimit: 5, tier: 'api', used: 2, left: 3 },
      { path: place, rateLimit: 10, tier: 'api', used: 4, left: 6 },
    ]);
    await recordCalls([pay({ amount: '[redacted:credit_card#1]' })]);
    expect(await usage()).toMatchObject({ uncertain: 1, limits: [{ used: 2 }, { used: 3 }, { used: 5 }] });
  });

  test('have a tier, whatever the names of tools and cases are', async () => {
    const cases = [{ name: 'a"].cases["b.cases[', when: 'args.n == 1', rateLimit: 2 }];
    await put('workspacePolicy', { tools: { 'x"].cases["y"]': { api: { cases } } } });
    await recordCalls([{ tool: 'x"].cases["y"]', input: { n: 1 } }]);
    expect((await usage()).limits).toMatchObject([{ rateLimit: 2, tier: 'api', used: 1 }]);
  });

  test('count the allowed calls that their rule matches, for each subject and tier', async () => {
    await put('workspacePolicy', {
      defaults: { api: { rateLimit: 10 }, background: { rateLimit: 3 } },
      tools: { 'mail.*': { api: { rateLimit: 5 } } },
    });
    await put('rolePolicies/member', { defaults: { api: { rateLimit: 7 } } });
    await recordCalls([
      ...repeated(4),
      ...repeated(2, { tool: 'mail.send' }),
      ...repeated(3, { sub: 'bob', role: 'admin', tool: 'mail.send' }),
      ...repeated(2, { agentTier: 'background', agentType: 'claude-code::background::bot' }),
      ...repeated(5, denied('policy_denied')),
      ...repeated(5, { hookEvent: 'PostToolUse' }),
    ]);
    const found = await usage();
    expect(found).toMatchObject({ asOf: at(0), truncated: false });
    expect(found.limits).toEqual([
      { document: 'role:member', path: 'defaults.api', rateLimit: 7, sub: 'ann', tier: 'api', used: 6, left: 1 },
      { document: 'workspace', path: 'defaults.background', rateLimit: 3, sub: 'ann', tier: 'background', used: 2, left: 1 },
      { document: 'workspace', path: 'tools["mail.*"].api', rateLimit: 5, sub: 'bob', tier: 'api', used: 3, left: 2 },
      { document: 'workspace', path: 'tools["mail.*"].api', rateLimit: 5, sub: 'ann', tier: 'api', used: 2, left: 3 },
      { document: 'workspace', path: 'defaults.api', rateLimit: 10, sub: 'ann', tier: 'api', used: 4, left: 6 },
    ]);
  });

  test('have a window of one minute, in steps of one second, as sidecars have', async () => {
    await put('workspacePolicy', { defaults: { api: { rateLimit: 10 } } });
    await recordCalls([{ ts: at(-61_000) }, { ts: at(-60_001) }, { ts: at(-60_000) }, { ts: at(-59_000) }, { ts: at(0) }]);
    expect((await usage()).limits).toMatchObject([{ used: 3, left: 7 }]);
    rest.clock.now = new Date(noon + 999);
    expect((await usage()).limits).toMatchObject([{ used: 3 }]);
    rest.clock.now = new Date(noon + 1000);
    expect((await usage()).limits).toMatchObject([{ used: 2 }]);
    rest.clock.now = new Date(noon + 61_000);
    expect((await usage()).limits).toEqual([]);
  });

  test('of layers in audit mode, or replaced by an override, are not listed', async () => {
    await put('workspacePolicy', { defaults: { api: { rateLimit: 10 } } });
    await put('rolePolicies/member', { mode: 'audit', defaults: { api: { rateLimit: 2 } } });
    await put('userPolicies/ann', { defaults: { api: { rateLimit: 50, override: true } } });
    await recordCalls(repeated(1));
    expect((await usage()).limits).toEqual([
      { document: 'user:ann:organisation', path: 'defaults.api', rateLimit: 50, sub: 'ann', tier: 'api', used: 1, left: 49 },
    ]);
  });

  test('of a delegated call are those of its first caller', async () => {
    await put('workspacePolicy', { defaults: { api: { rateLimit: 2 } } });
    const child = {
      agentName: 'child',
      sub: 'agent:child',
      originSub: 'ann',
      depth: 1,
      chain: ['bot', 'child'],
      chainClaimed: true as const,
    };
    await recordCalls([{}, child, child]);
    expect((await usage()).limits).toMatchObject([{ sub: 'ann', used: 3, left: 0 }]);
    expect((await usage({ sub: 'ann', agent: 'child' })).limits).toMatchObject([{ sub: 'ann', used: 3 }]);
    expect((await usage({ sub: 'agent:child' })).limits).toEqual([]);
    expect((await usage({ agent: 'another' })).limits).toEqual([]);
  });
});

describe('caps', () => {
  const agentNamed = async (maxToolCalls: number) => {
    const agentId = await rest.createAgent({ name: 'bot', maxToolCalls });
    return { agentId, call: { agentId, agentName: 'bot' } };
  };

  test('count the attempts of each run: all that reached the caps', async () => {
    const { agentId, call } = await agentNamed(10);
    await recordCalls([
      ...repeated(3, call),
      { ...call, ts: at(-7_200_000) },
      { ...call, ...denied('policy_denied') },
      { ...call, ...denied('rate_limited') },
      { ...call, ...denied('agent_tools') },
      { ...call, hookEvent: 'PostToolUse' },
      { ...call, sessionId: 'session-2', ts: at(-2000) },
      { ...call, sessionId: 'session-old', ts: at(-3_600_001) },
      { sessionId: 'a missing one’s' },
    ]);
    const { caps } = await usage();
    expect(caps).toEqual([
      { sessionId: 'session-1', agent: 'bot', agentId, sub: 'ann', maxToolCalls: 10, toolCalls: 6, left: 4, since: at(-7_200_000) },
      { sessionId: 'session-2', agent: 'bot', agentId, sub: 'ann', maxToolCalls: 10, toolCalls: 1, left: 9, since: at(-2000) },
    ]);
  });

  test('two subjects, keys or chains of one session are separate runs; a removed agent has none', async () => {
    const { agentId, call } = await agentNamed(3);
    await recordCalls([
      ...repeated(4, call),
      { ...call, sub: 'bob' },
      { ...call, keyId: 'key-2' },
      { ...call, sub: `agent:${agentId}`, originSub: 'ann', depth: 1, chain: ['root', 'bot'] },
    ]);
    expect((await usage()).caps.map(({ toolCalls, left }) => [toolCalls, left]).toSorted(([a = 0], [b = 0]) => a - b)).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
      [4, 0],
    ]);
    expect((await usage({ sub: 'bob' })).caps).toMatchObject([{ sub: 'bob', toolCalls: 1 }]);
    expect((await usage({ agent: 'bot' })).caps).toHaveLength(4);
    expect((await usage({ agent: 'root' })).caps).toEqual([]);
    expect((await rest.ask('DELETE', `/api/v1/agents/${agentId}`)).status).toBe(200);
    expect((await usage()).caps).toEqual([]);
  });
});

describe('spend', () => {
  const acme = "(select id from workspace where slug = 'acme')";
  const other = "(select id from workspace where slug = 'other')";
  const spent = (workspace: string, sub: string, day: string, settled: number, reserved: number) =>
    rest.pool.query(`insert into spend (workspace_id, sub, day, settled, reserved) values (${workspace}, $1, $2, $3, $4)`, [
      sub,
      day,
      settled,
      reserved,
    ]);

  test('is the cost of this day’s runs for each user of the workspace, the highest first', async () => {
    await spent(acme, 'ann', '2026-06-25', 1_250_000, 0);
    await spent(acme, 'bob', '2026-06-25', 4_999_000_001, 999_999);
    await spent(acme, 'cid', '2026-06-25', 0, 0);
    await spent(acme, 'dan', '2026-06-25', 6_000_000_000, 0);
    await spent(acme, 'ann', '2026-06-24', 99, 0);
    await spent(other, 'ann', '2026-06-25', 77, 0);
    expect((await usage()).spend.users).toEqual([
      { sub: 'dan', spentCents: 6_000, reservedCents: 0, leftCents: 0 },
      { sub: 'bob', spentCents: 4_999.000001, reservedCents: 0.999999, leftCents: 0 },
      { sub: 'ann', spentCents: 1.25, reservedCents: 0, leftCents: 4_998.75 },
    ]);
    expect((await usage({ sub: 'ann' })).spend.users).toMatchObject([{ sub: 'ann' }]);
    rest.clock.now = new Date(noon + 43_200_000);
    expect((await usage()).spend).toMatchObject({ day: '2026-06-26', resetsAt: '2026-06-27T00:00:00.000Z', users: [] });
  });
});

test('nothing of another workspace is counted', async () => {
  await put('workspacePolicy', { defaults: { api: { rateLimit: 10 } } });
  await ship(
    rest,
    spool('a'),
    records(1, 3, () => entry()),
    'other',
  );
  expect(await usage()).toMatchObject({ limits: [], caps: [], asOf: null });
});

test('a frozen workspace keeps its usage', async () => {
  await put('workspacePolicy', { defaults: { api: { rateLimit: 10 } } });
  await recordCalls(repeated(2));
  await rest.ask('POST', `${admin}/freeze`);
  expect((await usage()).limits).toMatchObject([{ used: 2 }]);
});

test('needs the scope of the audit, and no role', async () => {
  expect(await usage({}, await rest.keyOf('member', ['admin.audit.read']))).toMatchObject({ limits: [] });
  const key = await rest.keyOf('owner', ['policies.read'], 'owner-2');
  expect((await rest.ask('GET', `${admin}/usage`, { key })).status).toBe(403);
});

test.each(['?since=2026-06-25', '?sub=a&sub=b', '?agent=%00'])('%s is 400', async (query) => {
  expect((await rest.ask('GET', `${admin}/usage${query}`)).status).toBe(400);
});

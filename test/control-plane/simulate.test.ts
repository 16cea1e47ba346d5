// Simulating a draft over recorded calls, over HTTP. test/semantics/simulate.test.ts checks that every decision is the
// reference's.

import type { AuditEntry } from '@tollgate/proto/contract';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseSimulation } from '../../control-plane/policies/rules/simulation.ts';
import { changes, type Group } from '../../control-plane/policies/evaluate/simulate.ts';
import { simulationLine } from '../../control-plane/policies/routes/simulate.ts';
import { type SimulationLine, type SimulationResult, simulate } from '../../control-plane/policies/operations/simulate-policies.ts';
import { readReplay, type ReplayedPage } from '../../control-plane/audit/store/audit-replay.ts';
import { readWorkspaceState } from '../../control-plane/workspaces/store/workspace-state.ts';
import { createRest, type Rest } from './rest.ts';
import { entry, records, ship, spool, workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
});
afterEach(() => rest.close());

const admin = '/acme/admin';
const url = `${admin}/simulate`;
const deny = { permission: 'deny' };
const api = (rule: object) => ({ api: rule });
const at = (ms: number): string => new Date(Date.parse('2026-06-25T11:00:00.000Z') + ms).toISOString();

interface Line {
  readonly progress?: { readonly entries: number; readonly until: string };
  readonly result?: SimulationResult;
  readonly error?: string;
}

const isLine = new Ajv2020({ strict: false, validateFormats: false }).compile(simulationLine);

async function linesOf(body: object, key = rest.owner): Promise<readonly Line[]> {
  const answer = await rest.ask('POST', url, { body, key });
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
  return String(answer.body)
    .trimEnd()
    .split('\n')
    .map((line) => {
      const parsed: unknown = JSON.parse(line);
      if (!isLine(parsed)) throw new Error(`not as documented: ${line}`);
      return parsed as Line;
    });
}

async function resultOf(body: object): Promise<SimulationResult> {
  const lines = await linesOf(body);
  const results = lines.flatMap(({ result }) => result ?? []);
  expect([results.length, lines.at(-1)?.result]).toEqual([1, results[0]]);
  return results[0] as SimulationResult;
}

const put = async (path: string, body: object): Promise<void> => {
  expect((await rest.ask('PUT', `${admin}/${path}`, { body })).status).toBe(200);
};

/** Entries of calls one second apart, of one spool. */
let spools = 0;
const recordCalls = async (count: number, of: (n: number) => Partial<AuditEntry>): Promise<void> => {
  const id = spool('0123456789abcdef'[spools++ % 16] ?? 'f');
  await ship(
    rest,
    id,
    records(1, count, (n) => entry({ ts: at(n * 1000), ...of(n) })),
  );
};
const recordDenial = (code: AuditEntry['code']): Partial<AuditEntry> => ({ decision: 'deny', code, decisionReason: `${code}: …` });

const none = Object.fromEntries(changes.map((change) => [change, 0]));
const about = ({ change, agent, tool, tier, layer, document, path, count }: Group) => ({
  change,
  agent,
  tool,
  tier,
  layer,
  document,
  path,
  count,
});

test('the log is read in pages of at most 4 MiB and one entry, and none is skipped', async () => {
  const long = 60_000;
  await recordCalls(160, (n) => ({ decisionReason: `${n} `.padEnd(long, 'r'), input: 'not read' }));
  const range = { since: new Date(at(0)), until: new Date(at(1_000_000)) };
  const seen: string[] = [];
  let after: ReplayedPage['after'] = null;
  do {
    const page: ReplayedPage = await readReplay(rest.pool, await workspaceIdOf(rest), { ...range, after });
    expect(page.entries.length).toBeLessThanOrEqual(Math.ceil(4_194_304 / long));
    expect(page.rows).toBe(page.entries.length);
    seen.push(...page.entries.map(({ fields }) => String(fields['decisionReason']).trimEnd().split(' ')[0] ?? ''));
    after = page.after;
  } while (after !== null);
  expect(seen).toEqual(Array.from({ length: 160 }, (_, n) => String(n + 1)));
});

describe('a draft', () => {
  test('with nothing, over nothing: one result', async () => {
    expect(await linesOf({})).toEqual([
      {
        result: {
          since: '2026-06-24T12:00:00.000Z',
          until: '2026-06-25T12:00:00.000Z',
          entries: 0,
          truncated: false,
          notPolicy: 0,
          approximate: 0,
          uncertain: 0,
          asked: 0,
          drift: 0,
          newly: none,
          groups: [],
          groupsCut: false,
        },
      },
    ]);
  });

  test('lists which calls would be denied, by agent, tool and layer, with examples', async () => {
    await recordCalls(6, (n) =>
      n <= 4 ? { tool: 'github.delete_repo', sub: n % 2 ? 'ann' : 'bob' } : { tool: 'mail.send', agentName: 'mailer' },
    );
    const { newly, groups } = await resultOf({
      rolePolicies: { member: { tools: { 'github.delete_repo': api(deny) } } },
      userPolicies: { ann: { tools: { 'mail.*': api(deny) } } },
    });
    expect(newly).toEqual({ ...none, denied: 6 });
    expect(groups.map(about)).toEqual([
      {
        change: 'denied',
        agent: 'bot',
        tool: 'github.delete_repo',
        tier: 'api',
        layer: 'role',
        document: 'role:member',
        path: 'tools["github.delete_repo"].api',
        count: 4,
      },
      {
        change: 'denied',
        agent: 'mailer',
        tool: 'mail.send',
        tier: 'api',
        layer: 'user',
        document: 'user:ann:organisation',
        path: 'tools["mail.*"].api',
        count: 2,
      },
    ]);
    expect(groups[0]).not.toHaveProperty('sub');
    expect(groups[1]).toMatchObject({ sub: 'ann', part: 'organisation' });
    expect(groups[0]?.examples).toHaveLength(3);
    expect(groups[0]?.examples[0]).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}-1$/),
      ts: at(1000),
      sub: 'ann',
      recorded: 'allowed: nothing says otherwise',
      before: 'allowed: the built-in default allows api calls of "github.delete_repo"',
      after: 'policy_denied: role "member" denies api calls of "github.delete_repo" (tools["github.delete_repo"].api)',
    });
  });

  test('lists which calls would be allowed, by the rule that denies them today', async () => {
    await put('workspacePolicy', { tools: { 'github.*': api(deny) } });
    await recordCalls(2, () => recordDenial('policy_denied'));
    const { newly, groups, drift } = await resultOf({ workspacePolicy: {} });
    expect({ newly, drift }).toEqual({ newly: { ...none, allowed: 2 }, drift: 0 });
    expect(groups.map(about)).toMatchObject([{ change: 'allowed', layer: 'workspace', path: 'tools["github.*"].api', count: 2 }]);
  });

  test('lists whose payload would be redacted, or no longer', async () => {
    await put('rolePolicies/owner', { defaults: api({ transform: 'redact' }) });
    await recordCalls(3, (n) => ({ role: n === 1 ? 'owner' : 'member' }));
    const { newly, groups } = await resultOf({ rolePolicies: { member: { defaults: api({ transform: 'redact' }) } } });
    expect(newly).toEqual({ ...none, redacted: 2, unredacted: 1 });
    expect(groups.map(about)).toMatchObject([
      { change: 'redacted', document: 'role:member', path: 'defaults.api', count: 2 },
      { change: 'unredacted', layer: 'default', path: '', count: 1 },
    ]);
    expect(groups[0]?.examples[0]).toMatchObject({
      before: 'allowed: the built-in default logs api calls of "github.create_issue"',
      after: 'allowed: role "member" redacts api calls of "github.create_issue" (defaults.api)',
    });
  });

  test('a caller that does not support a redacted input is allowed once nothing redacts it', async () => {
    await put('workspacePolicy', { defaults: api({ transform: 'redact' }) });
    await recordCalls(1, () => recordDenial('redaction_unsupported'));
    expect(await resultOf({})).toMatchObject({ newly: none, drift: 0, notPolicy: 0 });
    expect((await resultOf({ workspacePolicy: {} })).newly).toEqual({ ...none, allowed: 1 });
  });

  test('a section that is present replaces the whole section; an absent one stays as stored; members’ own parts stay', async () => {
    await put('rolePolicies/member', { tools: { a: api(deny) } });
    await put('userPolicies/ann', { tools: { b: api(deny) } });
    const key = await rest.keyOf('member', ['*'], 'ann');
    expect((await rest.ask('PUT', `${admin}/userPolicies/ann`, { key, body: { tools: { c: api(deny) } } })).status).toBe(200);
    await recordCalls(3, (n) => ({ ...recordDenial('policy_denied'), tool: ['a', 'b', 'c'][n - 1] ?? '' }));
    const allowed = async (draft: object) => (await resultOf(draft)).groups.map(({ tool }) => tool).toSorted();
    expect(await allowed({})).toEqual([]);
    expect(await allowed({ rolePolicies: {} })).toEqual(['a']);
    expect(await allowed({ rolePolicies: { owner: {} }, userPolicies: {} })).toEqual(['a', 'b']);
    expect(await allowed({ userPolicies: { ann: { mode: 'audit', tools: { b: api(deny) } } } })).toEqual(['b']);
  });

  test('calls refused before policy stay refused, and are counted separately', async () => {
    const codes = [
      'agent_tools',
      'cap_tool_calls',
      'workspace_frozen',
      'agent_suspended',
      'key_revoked',
      'key_scope',
      'scope_missing',
    ] as const;
    await recordCalls(codes.length, (n) => recordDenial(codes[n - 1] ?? 'internal_error'));
    await put('workspacePolicy', { defaults: api(deny) });
    expect(await resultOf({ workspacePolicy: {} })).toMatchObject({
      entries: codes.length,
      notPolicy: codes.length,
      newly: none,
      drift: 0,
    });
  });

  test('unknown agents that the workspace would deny are among the denied', async () => {
    await recordCalls(2, (n) => (n === 1 ? { agentId: 'agent-1' } : {}));
    const { newly, groups } = await resultOf({ workspacePolicy: { unknownAgents: 'deny' } });
    expect(newly).toEqual({ ...none, denied: 1 });
    expect(groups.map(about)).toMatchObject([{ layer: 'workspace', document: 'workspace', path: 'unknownAgents' }]);
  });

  test('a record that differs from the decision of today’s documents is drift, and no change', async () => {
    await put('workspacePolicy', { tools: { 'github.*': api(deny) } });
    await recordCalls(3, () => ({}));
    expect(await resultOf({})).toMatchObject({ drift: 3, newly: none });
  });

  test('a frozen workspace and a revoked key hide nothing of what the draft would change', async () => {
    await recordCalls(1, () => ({ keyId: 'gone' }));
    await rest.ask('POST', `${admin}/freeze`);
    expect((await resultOf({ workspacePolicy: { defaults: api(deny) } })).newly.denied).toBe(1);
  });
});

describe('a draft with cases', () => {
  const pay = 'payments.transfer';
  const large = { name: 'large', when: 'args.amount > 1000', permission: 'deny', reason: 'over 1000' };
  const draft = { workspacePolicy: { tools: { [pay]: api({ permission: 'allow', cases: [large] }) } } };
  const recordInputs = (inputs: readonly Partial<AuditEntry>[]) => recordCalls(inputs.length, (n) => ({ tool: pay, ...inputs[n - 1] }));

  test('decides by the recorded inputs, and names the case', async () => {
    await recordInputs([{ input: { amount: 500 } }, { input: { amount: 5_000 } }, { input: { amount: 7_000 } }]);
    const { newly, uncertain, groups } = await resultOf(draft);
    expect({ newly, uncertain }).toEqual({ newly: { ...none, denied: 2 }, uncertain: 0 });
    expect(groups.map(about)).toMatchObject([
      { change: 'denied', document: 'workspace', path: `tools["${pay}"].api.cases["large"]`, count: 2 },
    ]);
    expect(groups[0]?.examples[0]?.after).toMatch(/cases\["large"\]\): over 1000$/);
  });

  test('a call whose input was redacted, cut or not recorded is uncertain, and decided strictly', async () => {
    const { input: _, ...withoutInput } = entry({ tool: pay, ts: at(4_000) });
    await recordInputs([
      { input: { amount: '[redacted:credit_card#1]' } },
      { input: '{"amount": 5', inputCut: true },
      { input: { amount: 5, to: '[redacted:email#1]' } },
    ]);
    await ship(
      rest,
      'ef'.repeat(16),
      records(1, 1, () => withoutInput),
    );
    expect(await resultOf(draft)).toMatchObject({ entries: 4, uncertain: 3, newly: { ...none, denied: 3 }, drift: 0 });
  });

  test('the time of a condition is that of the entry, and the documents of today have cases too', async () => {
    const before = { name: 'early', when: `now < timestamp("${at(2_500)}")`, permission: 'deny' };
    await put('workspacePolicy', { tools: { [pay]: api({ permission: 'allow', cases: [before] }) } });
    await recordInputs([recordDenial('policy_denied'), recordDenial('policy_denied'), {}]);
    expect(await resultOf({})).toMatchObject({ newly: none, drift: 0, uncertain: 0 });
    expect(await resultOf({ workspacePolicy: {} })).toMatchObject({ newly: { ...none, allowed: 2 }, drift: 0 });
  });

  test('the scopes of an agent are those of now, and those of a chain are not known', async () => {
    const id = await rest.createAgent({ name: 'bot', enabledTools: ['payments.*'], scopes: ['finance'] });
    const unless = { name: 'finance', when: '"finance" in agent.scopes', permission: 'allow' };
    const scoped = { workspacePolicy: { tools: { [pay]: api({ permission: 'deny', cases: [unless] }) } } };
    await recordInputs([{ agentId: id }, {}]);
    expect(await resultOf(scoped)).toMatchObject({ uncertain: 0, newly: { ...none, denied: 1 } });
    await recordCalls(1, () => ({
      tool: pay,
      agentId: id,
      depth: 1,
      chain: ['bot', 'bot'],
      originSub: 'ann',
      sub: `agent:${id}`,
    }));
    expect(await resultOf(scoped)).toMatchObject({ uncertain: 1, newly: { ...none, denied: 2 } });
  });

  test('a header that no condition named when the call was made is not known', async () => {
    const named = { name: 'team', when: 'has(args.headers) && args.headers["x-team"] == "a"', permission: 'deny' };
    const byHeader = { workspacePolicy: { tools: { 'billing.refund': api({ permission: 'allow', cases: [named] }) } } };
    const call = { tool: 'billing.refund', input: { method: 'POST', path: '/refunds' } };
    const withHeader = { ...call, input: { ...call.input, headers: { 'x-team': 'b' } } };
    await recordCalls(2, (n) => (n === 1 ? call : withHeader));
    expect(await resultOf(byHeader)).toMatchObject({ uncertain: 1, newly: { ...none, denied: 1 } });
  });

  test('inputs are read only if the documents or the draft have cases', async () => {
    await recordInputs([{ input: { amount: 5_000 } }]);
    const state = await readWorkspaceState(rest.pool, await workspaceIdOf(rest));
    if (state === null) throw new Error('there is no such workspace');
    const read: boolean[] = [];
    const ask = async (body: object): Promise<void> => {
      const parsed = parseSimulation({ ...body, since: at(0) }, new Date(at(10_000)));
      if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
      const deps = {
        read: async (range: Parameters<typeof readReplay>[2]) => {
          read.push(range.readsInput === true);
          return readReplay(rest.pool, await workspaceIdOf(rest), range);
        },
        stopwatch: () => 0,
        requireStanding: async () => {},
      };
      for await (const line of simulate(deps, state, { defaultPermission: 'allow', windowSeconds: 60 }, parsed.value))
        if ('failure' in line) throw line.failure;
    };
    await ask({});
    await ask(draft);
    expect(read).toEqual([false, true]);
  });
});

describe('a delegated call', () => {
  const delegated = {
    agentName: 'child',
    agentType: 'claude-code::api::child',
    sub: 'agent:child',
    originSub: 'ann',
    depth: 1,
    chain: ['parent', 'child'],
  };
  const draft = { agentTypePolicies: { 'claude-code::api::parent': { defaults: api(deny) } } };

  test('is decided for every hop, by the documents of its first caller', async () => {
    await recordCalls(1, () => ({ ...delegated, chainClaimed: true }));
    expect(await resultOf(draft)).toMatchObject({ newly: { denied: 1 }, approximate: 0 });
    expect(await resultOf({ userPolicies: { ann: { defaults: api(deny) } } })).toMatchObject({
      newly: { denied: 1 },
      groups: [{ sub: 'agent:child', document: 'user:ann:organisation' }],
    });
  });

  test('whose hops the entry does not name in full is decided by the recorded ones, and counted as approximate', async () => {
    const { chain, ...untold } = delegated;
    await recordCalls(3, (n) => [delegated, untold, { ...untold, originSub: '' }][n - 1] ?? {});
    expect(chain).toHaveLength(2);
    expect(await resultOf(draft)).toMatchObject({ entries: 3, approximate: 3, newly: { denied: 1 } });
  });
});

describe('limits', () => {
  const limited = (rateLimit: number) => ({ workspacePolicy: { defaults: api({ rateLimit }) } });

  test('are counted over the recorded times: calls that the draft throttles and today allows', async () => {
    // Six calls a second apart, and one after a whole window.
    await recordCalls(7, (n) => ({ ts: at(n === 7 ? 70_000 : n * 1000) }));
    const { newly, groups } = await resultOf({ ...limited(4), since: at(0) });
    expect(newly).toEqual({ ...none, throttled: 2 });
    expect(groups.map(about)).toMatchObject([{ change: 'throttled', layer: 'workspace', path: 'defaults.api', count: 2 }]);
    expect(groups[0]?.examples[0]?.after).toContain('rate_limited: the workspace allows 4 calls in 60 s');
  });

  test('are separate for each subject, and a call that either denies is not counted', async () => {
    await recordCalls(8, (n) => ({ sub: n % 2 ? 'ann' : 'bob', tool: n <= 4 ? 'denied.tool' : 'x' }));
    const { newly } = await resultOf({ workspacePolicy: { defaults: api({ rateLimit: 2 }), tools: { 'denied.*': api(deny) } } });
    expect(newly).toEqual({ ...none, denied: 4 });
  });

  test('calls that were throttled, and would not be, are newly allowed', async () => {
    await put('workspacePolicy', { defaults: api({ rateLimit: 1 }) });
    await recordCalls(2, (n) => (n === 1 ? {} : recordDenial('rate_limited')));
    expect(await resultOf({})).toMatchObject({ drift: 0, newly: none });
    expect((await resultOf(limited(2))).newly).toEqual({ ...none, allowed: 1 });
  });

  test('the calls of one window before since are counted, and are not among the results', async () => {
    await recordCalls(3, (n) => ({ ts: at([-100_000, -10_000, 1000][n - 1] ?? 0) }));
    expect(await resultOf({ ...limited(1), since: at(0) })).toMatchObject({ entries: 1, newly: { throttled: 1 } });
    expect(await resultOf({ ...limited(2), since: at(0) })).toMatchObject({ entries: 1, newly: none });
  });
});

describe('the range', () => {
  test('includes both ends, only PreToolUse, and no other workspace’s entries', async () => {
    await recordCalls(5, () => ({}));
    await recordCalls(3, () => ({ hookEvent: 'PostToolUse' }));
    await ship(
      rest,
      'ef'.repeat(16),
      records(1, 4, () => entry({ ts: at(3000) })),
      'other',
    );
    expect(await resultOf({ since: at(2000), until: at(4000) })).toMatchObject({ entries: 3, since: at(2000), until: at(4000) });
    expect(await resultOf({ since: at(2000), until: at(2000) })).toMatchObject({ entries: 1 });
    expect(await resultOf({ since: '0001-01-01', until: '9999-12-31T23:59:59.999Z' })).toMatchObject({ entries: 5 });
  });

  test('is decided up to limit entries, the oldest first, and the answer says where there are more', async () => {
    await recordCalls(5, () => ({}));
    expect(await resultOf({ limit: 3 })).toMatchObject({ entries: 3, truncated: true });
    expect(await resultOf({ limit: 5 })).toMatchObject({ entries: 5, truncated: false });
    expect(await resultOf({ limit: 0 })).toMatchObject({ entries: 1, truncated: true });
    expect(await resultOf({ limit: 99_999_999 })).toMatchObject({ entries: 5, truncated: false });
  });

  test('of many pages is read once each, in order, with progress in between', async () => {
    await recordCalls(1000, () => ({}));
    await recordCalls(1000, (n) => ({ ts: at(n * 1000 + 500) }));
    await recordCalls(700, () => ({ ts: at(1000) }));
    const lines = await linesOf({ workspacePolicy: { defaults: api(deny) } });
    const progress = lines.flatMap((line) => line.progress ?? []);
    expect(lines.at(-1)?.result).toMatchObject({ entries: 2700, newly: { denied: 2700 } });
    expect(progress.length).toBeGreaterThanOrEqual(2);
    expect(progress.map(({ until }) => until)).toEqual(progress.map(({ until }) => until).toSorted());
    expect(progress.map(({ entries }) => entries)).toEqual(progress.map(({ entries }) => entries).toSorted((a, b) => a - b));
  });
});

describe('is refused', () => {
  test.each([
    ['a role that is none', { rolePolicies: { root: {} } }, ['rolePolicies']],
    ['a section that is none', { policies: {} }, ['policies']],
    ['no instant', { since: '2026-02-30' }, ['since']],
    ['a limit that is no integer', { limit: '10' }, ['limit']],
    ['a range that ends before it begins', { since: at(1), until: at(0) }, ['since']],
    [
      'many places at once',
      { workspacePolicy: { mode: 'off' }, rolePolicies: { member: { tools: { a: api({ permission: 'maybe' }) } } }, until: 5 },
      ['workspacePolicy.mode', 'rolePolicies.member.tools', 'until'],
    ],
  ])('%s: 400 with every place, and nothing is streamed', async (_, body, places) => {
    const answer = await rest.ask('POST', url, { body });
    expect([answer.status, answer.headers['content-type']]).toEqual([400, expect.stringContaining('application/json')]);
    for (const place of places) expect(JSON.stringify(answer.body)).toContain(place);
  });

  test('to a member, and to a key without the audit’s scope', async () => {
    expect((await rest.ask('POST', url, { body: {}, key: await rest.keyOf('member') })).status).toBe(403);
    const key = await rest.keyOf('admin', ['policies.read']);
    const answer = await rest.ask('POST', url, { body: {}, key });
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([403, expect.stringContaining('admin.audit.read')]);
    const both = await rest.keyOf('admin', ['policies.read', 'admin.audit.read'], 'admin-2');
    expect((await rest.ask('POST', url, { body: {}, key: both })).status).toBe(200);
  });
});

test('it changes nothing: revision, documents, history, events and entries stay unchanged', async () => {
  await put('workspacePolicy', { defaults: api({ rateLimit: 5 }) });
  await recordCalls(50, () => ({}));
  const everything = async () => {
    const tables = [
      'workspace',
      'policy_document',
      'policy_history',
      'admin_event',
      'audit_entry',
      'audit_head',
      'audit_stream',
      'agent',
      'member',
    ];
    return Promise.all(tables.map(async (table) => (await rest.pool.query(`select t::text from ${table} t order by 1`)).rows));
  };
  const before = await everything();
  await resultOf({ workspacePolicy: { defaults: api(deny) }, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} });
  expect(await everything()).toEqual(before);
});

test('other requests are answered while it runs', async () => {
  for (let at = 0; at < 6; at++) await recordCalls(1000, (n) => ({ tool: `tool-${n}`, sub: `sub-${n % 50}` }));
  const running = { done: false };
  const run = linesOf({ workspacePolicy: { defaults: api({ rateLimit: 1 }) } }).finally(() => {
    running.done = true;
  });
  let answered = 0;
  while (!running.done) {
    expect((await request(`${rest.origin}/healthz`)).statusCode).toBe(200);
    if (!running.done) answered += 1;
  }
  expect((await run).at(-1)?.result?.entries).toBe(6000);
  expect(answered).toBeGreaterThan(10);
});

describe('an early end', () => {
  const started = async (read: Parameters<typeof simulate>[0]['read'], rest_: Partial<Parameters<typeof simulate>[0]> = {}) => {
    const state = await readWorkspaceState(rest.pool, await workspaceIdOf(rest));
    const question = parseSimulation({}, rest.clock.now);
    if (state === null || 'problems' in question) throw new Error('nothing to simulate');
    return simulate({ read, stopwatch: () => 0, requireStanding: async () => {}, ...rest_ }, state, rest.deps.defaults, question.value);
  };
  const replayed = (id: number) => ({
    id: String(id),
    ts: new Date(at(id)),
    tool: 'x',
    decision: 'allow' as const,
    agentName: 'bot',
    sub: 'ann',
    fields: { ...entry() },
  });
  const endless = () => {
    let pages = 0;
    return {
      read: async () => {
        pages += 1;
        return {
          entries: Array.from({ length: 100 }, (_, n) => replayed(n)),
          rows: 100,
          after: { ts: new Date(0), spoolId: spool('a'), sequence: 1 },
        };
      },
      pages: () => pages,
    };
  };
  const all = async (lines: AsyncIterable<SimulationLine>): Promise<readonly SimulationLine[]> => {
    const found: SimulationLine[] = [];
    for await (const line of lines) found.push(line);
    return found;
  };

  test('at the deadline: the result so far, and that it is cut', async () => {
    let ms = 0;
    const lines = await all(await started(endless().read, { stopwatch: () => (ms += 10) }));
    const last = lines.at(-1);
    expect(last).toMatchObject({ result: { truncated: true } });
    expect(last !== undefined && 'result' in last && last.result.entries).toBeGreaterThan(1000);
  });

  test('when the caller has disconnected: nothing more is read or sent', async () => {
    const { read, pages } = endless();
    const left = new AbortController();
    const lines = await started(read, { signal: left.signal });
    await lines.next();
    const before = pages();
    left.abort();
    expect(await all(lines)).toEqual([]);
    expect(pages() - before).toBeLessThanOrEqual(1);
  });

  test('when the database fails: one error, whose text does not mention the database', async () => {
    await recordCalls(1, () => ({}));
    await rest.pool.query('alter table audit_entry rename column sub to sub_');
    const lines = await linesOf({});
    expect(lines).toEqual([{ error: 'internal error' }]);
    expect(rest.lines.some((line) => line.includes('a simulation failed'))).toBe(true);
  });
});

test('a caller that may not read the audit log is refused before the body is read', async () => {
  const key = await rest.keyOf('admin', ['policies.write', 'policies.read'], 'drafter');
  const answer = await rest.ask('POST', '/acme/admin/simulate', { key, body: '{', headers: { 'content-type': 'application/json' } });
  expect(answer.status).toBe(403);
  expect(JSON.stringify(answer.body)).toContain('admin.audit.read');
});

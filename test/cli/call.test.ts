// `tollgate call show`: one recorded call in a terminal.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool } from '../control-plane/spool.ts';
import { createCli, jsonOf } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
  await rest.keyOf('member', ['*'], 'ann');
  const { body } = await rest.ask('PUT', '/acme/admin/workspacePolicy', {
    body: { tools: { 'pay.out': { api: { permission: 'deny' } } } },
  });
  const { revision } = body as { readonly revision: number };
  const { rows } = await rest.pool.query<{ epoch: string }>('select epoch from deployment');
  const of = { epoch: rows[0]?.epoch ?? '', revision, tool: 'pay.out', decision: 'deny', code: 'policy_denied' } as const;
  const decisionReason = 'policy_denied: workspace tools["pay.out"].api denies \u001b[31mred\u001b[0m';
  await ship(
    rest,
    spool('a'),
    records(1, 3, (n) => entry({ ...of, decisionReason, requestId: n === 1 ? 'req/1' : 'twice', chain: ['root', 'bot'] })),
  );
});
afterAll(() => rest.close());

test('the layers, who won, and what would allow it', async () => {
  const { code, out, err } = await tollgate(['call', 'show', 'req/1']);
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('deny  pay.out  policy_denied: ');
  expect(out).toContain('agent     root → bot (api), for ann');
  expect(out).toMatch(/by the policy of revision \d+, which is the same today; the entry does not name the caller in full/);
  expect(out).toContain('layers of claude-code::api::root\n');
  expect(out).toContain('enforced  deny, no rate limit, log; by workspace tools["pay.out"].api');
  expect(out).toMatch(/would be allowed with\n {2}workspace tools\["pay\.out"\]\.api: /);
  // What a terminal would act on is escaped.
  expect(out).not.toContain('\u001b');
});

test('--json is the whole answer', async () => {
  expect(jsonOf(await tollgate(['call', 'show', 'req/1', '--json']))).toMatchObject({
    requestId: 'req/1',
    before: { tool: 'pay.out' },
    explanation: { decision: 'deny' },
  });
});

test('other calls with the same id are counted, and an unknown id is not found', async () => {
  expect(await tollgate(['call', 'show', 'twice'])).toMatchObject({ code: 0, err: expect.stringContaining('1 further entries') });
  expect(await tollgate(['call', 'show', 'nothing'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no entry of this request id'),
  });
});

test('without the scope to explain it prints the entry, and why there is no explanation', async () => {
  const auditor = createCli(rest.origin, await rest.keyOf('member', ['admin.audit.read'], 'max'), { now: rest.clock.now });
  const { code, out } = await auditor(['call', 'show', 'req/1']);
  expect(code).toBe(0);
  expect(out).toContain('not explained: this key lacks the scope policies.read');
});

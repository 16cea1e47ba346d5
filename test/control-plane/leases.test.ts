// Limits and caps over several real sidecars on a real control plane with PostgreSQL: exact at every sidecar, without
// cost for most calls, and by rule while the control plane is away.
import { bounds } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRun } from '../../sidecar/doors/library/library.ts';
import type { Verdict } from '../../sidecar/engine/govern/verdict.ts';
import type { Sidecar } from '../../sidecar/doors/sidecar.ts';
import { createTestServer } from '../support/governing.ts';
import { followPlane, type Plane, startPlane } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';

let plane: Plane;
let key: string;

beforeAll(async () => {
  plane = await startPlane();
  key = (await plane.issueKey(['sidecar.sync', 'govern'])).key;
});

afterAll(() => plane.close());

const isOpen = (sidecar: Sidecar): Promise<unknown> =>
  eventually(
    () => Promise.resolve(sidecar.leasing.status().link),
    (link) => link === 'open',
  );

/** Starts `count` sidecars that can ask for leases, once they hold this policy. */
async function follow(count: number, document: object) {
  const revision = await plane.writePolicy(document);
  const followed = await Promise.all(Array.from({ length: count }, (_, at) => followPlane(plane, { key, sidecarId: `sidecar-${at}` })));
  await Promise.all(followed.map(({ reaches }) => reaches(revision)));
  await Promise.all(followed.map(({ sidecar }) => isOpen(sidecar)));
  return followed;
}

interface Hooked {
  readonly decision: 'allow' | 'deny';
  readonly reason?: string;
  readonly retryAfterMs?: number;
}

interface Recorded {
  readonly decision: 'allow' | 'deny';
  readonly code: string;
  readonly rule?: { readonly path: string };
}

/** Calls through the hook endpoint of one sidecar. */
function hooksOf(sidecar: Sidecar) {
  const { app } = createTestServer(sidecar, { requestsPerSecond: 100_000 });
  return async (fields: object): Promise<Hooked> => {
    const payload = { tool_input: {}, agent_tier: 'api', ...fields };
    const answer = await app.inject({ method: 'POST', url: '/govern/tool-use', headers: { authorization: `Bearer ${key}` }, payload });
    return answer.json<Hooked>();
  };
}

const limited = (tool: string, rateLimit: number): object => ({ tools: { [tool]: { api: { rateLimit } } } });

/** Asks again while the ledger was only too slow, which can happen on a busy machine. */
const patiently = (ask: () => Promise<Hooked>): Promise<Hooked> =>
  eventually(ask, ({ reason = '' }) => !/in time|cannot be reached/.test(reason));

/** Items in turn. */
function turn<T>(items: readonly T[], at: number): T {
  const item = items[at % items.length];
  if (item === undefined) throw new Error('there is none');
  return item;
}

const codeOf = ({ reason = '' }: Hooked): string => reason.split(':', 1)[0] ?? '';

test('three sidecars, one limit of 60, 300 calls at once from 100 agents: exactly 60 are admitted', async () => {
  const ask = (await follow(3, limited('show.sixty', 60))).map(({ sidecar }) => hooksOf(sidecar));
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, at) =>
      patiently(() => turn(ask, at)({ tool_name: 'show.sixty', agent_name: `agent-${at % 100}`, session_id: `s-${at % 100}` })),
    ),
  );
  const denied = answers.filter((answer) => answer.decision === 'deny');
  expect(answers.length - denied.length).toBe(60);
  expect(new Set(denied.map((answer) => codeOf(answer)))).toEqual(new Set(['rate_limited']));
  expect(denied.every((answer) => (answer.retryAfterMs ?? 0) > 0)).toBe(true);
  expect(denied[0]?.reason).toContain('60');
  // Each call has one entry, and a denied one names the limit.
  const read = async (): Promise<readonly Recorded[]> => {
    const { body } = await plane.ask('GET', '/acme/admin/audit?tool=show.sixty&limit=1000');
    return (body as { readonly entries: readonly Recorded[] }).entries;
  };
  const entries = await eventually(
    read,
    (found) => found.filter(({ decision }) => decision === 'allow').length >= 60 && found.length >= 300,
  );
  expect(entries.map(({ decision }) => decision).filter((decision) => decision === 'allow')).toHaveLength(60);
  const paths = entries.filter(({ code }) => code === 'rate_limited').map(({ rule }) => rule?.path);
  expect(paths.length).toBeGreaterThanOrEqual(240);
  expect([...new Set(paths)]).toEqual([expect.stringContaining('show.sixty')]);
});

test('two sidecars share one session with a cap of 50: of 200 calls at once exactly 50 are made', async () => {
  const agent = await plane.createAgent({ name: 'capped', maxToolCalls: 50, enabledTools: ['show.*'] });
  const ask = (await follow(2, { tools: {} })).map(({ sidecar }) => hooksOf(sidecar));
  const call = { tool_name: 'show.capped', agent_name: agent, session_id: 'one-session' };
  const answers = await Promise.all(Array.from({ length: 200 }, (_, at) => patiently(() => turn(ask, at)(call))));
  const denied = answers.filter((answer) => answer.decision === 'deny');
  expect(answers.length - denied.length).toBe(50);
  expect(new Set(denied.map((answer) => codeOf(answer)))).toEqual(new Set(['cap_tool_calls']));
  // A third one, which joins later, knows it too.
  const [late] = (await follow(1, { tools: {} })).map(({ sidecar }) => hooksOf(sidecar));
  expect(await late?.(call)).toMatchObject({ decision: 'deny', reason: expect.stringMatching(/^cap_tool_calls: the run has made its 50/) });
});

const decided = (verdict: Verdict | Promise<Verdict>): Verdict => {
  if (verdict instanceof Promise) throw new Error('the call had to wait');
  return verdict;
};

test('after its first call an agent at human pace never waits', async () => {
  const [followed] = await follow(1, limited('show.pace', 100));
  if (followed === undefined) throw new Error('no sidecar');
  const run = startRun(followed.sidecar, { agent: 'human', tier: 'api' });
  const first = run.decide({ tool: 'show.pace', input: {} });
  expect(first).toBeInstanceOf(Promise);
  expect((await first).allowed).toBe(true);
  for (let call = 0; call < 10; call += 1) expect(decided(run.decide({ tool: 'show.pace', input: {} })).allowed).toBe(true);
  expect(followed.sidecar.leasing.status()).toMatchObject({ link: 'open', counters: 1, waits: 1, dryDenials: 0 });
});

test('the unused lease of one sidecar goes to another that asks for it, and that of a closed one is returned', async () => {
  const [one, other] = await follow(2, limited('show.recall', 8));
  if (one === undefined || other === undefined) throw new Error('no sidecars');
  const callOf = (sidecar: Sidecar) => {
    const run = startRun(sidecar, { agent: 'a', tier: 'api' });
    return async (): Promise<boolean> => (await run.decide({ tool: 'show.recall', input: {} })).allowed;
  };
  const [mine, theirs] = [callOf(one.sidecar), callOf(other.sidecar)];
  expect(await mine()).toBe(true);
  const answers = await Promise.all(Array.from({ length: 6 }, theirs));
  expect(answers).toEqual(Array.from({ length: 6 }, () => true));
  await other.close(1_000);
  expect(await mine()).toBe(true);
  expect(await mine()).toBe(false);
});

test('a lowered limit holds immediately, and a raised one grants more immediately', async () => {
  const [followed] = await follow(1, limited('show.moved', 20));
  if (followed === undefined) throw new Error('no sidecar');
  const run = startRun(followed.sidecar, { agent: 'a', tier: 'api' });
  const call = async (): Promise<boolean> => (await run.decide({ tool: 'show.moved', input: {} })).allowed;
  expect(await call()).toBe(true);
  await followed.reaches(await plane.writePolicy(limited('show.moved', 3)));
  expect([await call(), await call(), await call()]).toEqual([true, true, false]);
  await followed.reaches(await plane.writePolicy(limited('show.moved', 5)));
  expect([await call(), await call(), await call()]).toEqual([true, true, false]);
});

test('while the control plane is away limits grant only what is held, and no call waits; a run that is not shared continues', async () => {
  const agent = await plane.createAgent({ name: 'alone', maxToolCalls: 6, enabledTools: ['away.*'] });
  const [one, other] = await follow(2, limited('away.limited', 5));
  if (one === undefined || other === undefined) throw new Error('no sidecars');
  const [ask, askOther] = [hooksOf(one.sidecar), hooksOf(other.sidecar)];
  const capped = { tool_name: 'away.free', agent_name: agent };
  for (const first of [
    () => ask({ ...capped, session_id: 'shared' }),
    () => askOther({ ...capped, session_id: 'shared' }),
    () => ask({ tool_name: 'away.limited' }),
  ])
    expect((await patiently(first)).decision).toBe('allow');
  await plane.stopGrpc();
  await eventually(
    () => Promise.resolve([one, other].map(({ sidecar }) => sidecar.leasing.status().link)),
    (links) => links.every((link) => link === 'lost'),
  );
  const { waits } = one.sidecar.leasing.status();
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask({ tool_name: 'away.limited' })));
  expect(one.sidecar.leasing.status()).toMatchObject({ waits, waiting: 0 });
  const denied = answers.filter(({ decision }) => decision === 'deny');
  expect(denied.length).toBeGreaterThanOrEqual(6);
  expect(denied[0]).toMatchObject({ kind: 'retry', reason: expect.stringMatching(/^rate_limited: .*the control plane cannot be reached/) });
  // No other sidecar has this session.
  const alone = await Promise.all(Array.from({ length: 8 }, () => ask({ ...capped, session_id: 'alone' })));
  expect(alone.map(({ decision }) => decision).filter((decision) => decision === 'allow')).toHaveLength(6);
  const shared = await Promise.all(Array.from({ length: 8 }, () => askOther({ ...capped, session_id: 'shared' })));
  expect(shared.filter(({ decision }) => decision === 'allow').length).toBeLessThan(5);
  expect(shared.at(-1)).toMatchObject({
    kind: 'retry',
    retryAfterMs: bounds.leaseMs,
    reason: expect.stringMatching(/^cap_tool_calls: .*the control plane cannot be reached/),
  });

  const { rows: known } = await plane.pool.query<{ key: string }>('select key from quota_counter');
  await plane.startGrpc();
  await Promise.all([isOpen(one.sidecar), isOpen(other.sidecar)]);
  // Local counts are known to all once they were reported. Only the session that no other sidecar had is new to the ledger.
  const rows = async (): Promise<number> => {
    const { rows: found } = await plane.pool.query<{ charged: string }>(
      `select coalesce(max((charge ->> 1)::int), 0) as charged from quota_counter, jsonb_array_elements(state -> 'charges') charge
       where (charge ->> 0)::int = 0 and key <> all($1)`,
      [known.map(({ key }) => key)],
    );
    return Number(found[0]?.charged);
  };
  await eventually(rows, (charged) => charged >= 6);
  expect((await askOther({ ...capped, session_id: 'alone' })).decision).toBe('deny');
});

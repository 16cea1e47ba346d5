// Policy that some program does not support: it is refused while a connected sidecar or a control plane lacks what it
// needs, and a database that holds it accepts only programs that support it.
import { capabilities, policyNeeds } from '@tollgate/proto/contract';
import type pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { joinDatabase } from '../../control-plane/database/operations/join.ts';
import { createRoster } from '../../control-plane/sidecars/operations/roster.ts';
import { seedFirstWorkspace } from '../../control-plane/workspaces/operations/seed-first-workspace.ts';
import { lockStart, raiseNeeds } from '../../control-plane/database/deployment.ts';
import { beat } from '../../control-plane/runs/store/run-instances.ts';
import { createRest, errorOf, type Rest } from './rest.ts';
import { workspaceIdOf } from './spool.ts';

let rest: Rest;
beforeEach(async () => {
  rest = await createRest();
  // As if limits had been added by a later version.
  Object.assign(rest.deps, { needs: { ...policyNeeds, rule: { ...policyNeeds.rule, rateLimit: 'limits' } } });
});
afterEach(() => rest.close());

const policy = '/acme/admin/workspacePolicy';
const limited = { defaults: { api: { rateLimit: 5 } } };
const put = (query = '', body: object = limited) => rest.ask('PUT', `${policy}${query}`, { body });
const needs = async (): Promise<unknown> => (await rest.pool.query('select needs from deployment')).rows[0]?.needs;

async function connect(sidecarId: string, capabilities: readonly string[], slug = 'acme'): Promise<void> {
  const roster = createRoster({ ...rest.deps, wallTime: Date.now, now: () => 0, log: { warn: () => undefined } }, 'plane-1');
  const workspaceId = await workspaceIdOf(rest, slug);
  roster.enters({ workspaceId, keyId: 'key-1', sidecarId, bootId: sidecarId, form: 'process', held: null, capabilities });
  await roster.write();
}

test('a write that needs nothing new checks no program', async () => {
  await connect('old', []);
  expect((await put('', { defaults: { api: { permission: 'deny' } } })).status).toBe(200);
  expect(await needs()).toEqual([]);
});

test('a write that a connected sidecar does not support is refused by name, and written where it is forced', async () => {
  await connect('edge-old', ['deltas']);
  await connect('edge-new', ['deltas', 'limits']);
  await connect('elsewhere', [], 'other');
  const refused = await put();
  expect(refused.status).toBe(409);
  expect(errorOf(refused)).toBe(
    'this policy needs limits, which sidecars lack: edge-old; upgrade them, or set force=true: they then deny the calls of such rules',
  );
  expect(Object((await rest.ask('GET', policy)).body)).toEqual({});
  expect(await needs()).toEqual([]);
  expect((await put('?force=true')).status).toBe(200);
  expect(await needs()).toEqual(['limits']);
  const { sidecars } = Object((await rest.ask('GET', '/acme/admin/sidecars')).body);
  expect(sidecars.map(({ id, lacks }: { id: string; lacks: unknown }) => [id, lacks])).toEqual([
    ['edge-new', []],
    ['edge-old', ['limits']],
  ]);
});

test('cases need conditions, in every document', async () => {
  await connect('edge-new', capabilities);
  await connect(
    'edge-old',
    capabilities.filter((name) => name !== 'conditions'),
  );
  const cases = [{ name: 'large', when: 'args.amount > 1000', permission: 'deny' }];
  for (const url of [policy, '/acme/admin/rolePolicies/member', '/acme/admin/userPolicies/owner']) {
    const refused = await rest.ask('PUT', url, { body: { tools: { pay: { api: { cases } } } } });
    expect(refused.status).toBe(409);
    expect(errorOf(refused)).toContain('this policy needs conditions, which sidecars lack: edge-old; upgrade them, or set force=true');
  }
  expect(await needs()).toEqual([]);
  expect((await put('?force=true', { tools: { pay: { api: { cases } } } })).status).toBe(200);
  expect(await needs()).toEqual(['conditions']);
});

test('of many sidecars the first ten are named', async () => {
  for (let n = 10; n < 23; n += 1) await connect(`edge-${n}`, []);
  expect(errorOf(await put())).toContain(
    `edge-10, ${Array.from({ length: 8 }, (_, at) => `edge-${at + 11}`).join(', ')}, edge-19 and 3 more`,
  );
});

test.each<readonly [string, string, object]>([
  ['a role', '/acme/admin/rolePolicies/member', limited],
  ['an agent type', '/acme/admin/agentTypePolicies/claude-code%3A%3Aapi%3A%3Abot', limited],
  ['a user', '/acme/admin/userPolicies/owner', limited],
  ['a tool', policy, { tools: { x: { api: { rateLimit: 1 } } } }],
])('a write of the policy of %s is refused in the same way', async (_, url, body) => {
  await connect('old', []);
  expect((await rest.ask('PUT', url, { body })).status).toBe(409);
  expect((await rest.ask('PUT', `${url}?force=true`, { body })).status).toBe(200);
});

test('a set and a rollback are refused in the same way', async () => {
  const body = { workspacePolicy: limited };
  const before = Number(Object((await put()).body).revision);
  await rest.ask('DELETE', policy);
  await connect('old', []);
  expect((await rest.ask('POST', '/acme/admin/policies/apply', { body })).status).toBe(409);
  const rollback = { revision: before };
  expect((await rest.ask('POST', '/acme/admin/policies/rollback', { body: rollback })).status).toBe(409);
  expect((await rest.ask('POST', '/acme/admin/policies/rollback?force=true', { body: rollback })).status).toBe(200);
});

test('a control plane of an older version blocks the write, also where it is forced', async () => {
  await beat(rest.pool, 'instance-1');
  const refused = await put('?force=true');
  expect(refused.status).toBe(409);
  expect(errorOf(refused)).toBe('this policy needs limits, which 1 control plane lacks; upgrade all of them first');
  await rest.pool.query(`update run_instance set capabilities = '{deltas,limits}'`);
  expect((await put()).status).toBe(200);
  await rest.pool.query(`update run_instance set capabilities = '{}', heartbeat_at = now() - interval '1 minute'`);
  expect((await put('', { defaults: { api: { rateLimit: 6 } } })).status).toBe(200);
});

test('a database that needs what this version does not support is refused at the start', async () => {
  const first = { workspace: 'acme', ownerEmail: 'owner@acme.test', ownerKey: null };
  expect(await seedFirstWorkspace(rest.deps, first)).toEqual({ kind: 'present' });
  await put();
  expect(await seedFirstWorkspace(rest.deps, first)).toEqual({
    kind: 'refused',
    reason: expect.stringMatching(/start the version that wrote it, or a later one\. It needs: limits$/),
  });
});

test('a rule that a later version has written denies here, and makes no exception', async () => {
  await put('', { defaults: { api: { permission: 'allow', override: true } } });
  await rest.pool.query(
    `update policy_document set document = '{"defaults": {"api": {"permission": "allow", "override": true, "when": "amount < 5"}}}'`,
  );
  const body = { role: 'member', agentType: 'x::api::', tier: 'api', tool: 'x' };
  const answer = await rest.ask('POST', '/acme/admin/explain', { body });
  expect(Object(answer.body)).toMatchObject({ decision: 'deny' });
});

describe('a control plane that starts while a write needs more', () => {
  /** A transaction that holds the lock of starts, until the returned function is called. */
  async function holding(work: (client: pg.PoolClient) => Promise<unknown>): Promise<() => Promise<void>> {
    const client = await rest.pool.connect();
    await client.query('begin');
    await lockStart(client);
    await work(client);
    return async () => {
      await client.query('commit');
      client.release();
    };
  }
  const waiting = async (): Promise<unknown> =>
    (
      await rest.pool.query(
        `select count(*)::int as waiting from pg_locks where locktype = 'advisory' and not granted
           and database = (select oid from pg_database where datname = current_database())`,
      )
    ).rows[0]?.waiting;

  test('is counted by that write, where the start is first', async () => {
    const commit = await holding((client) =>
      client.query("insert into run_instance (id, heartbeat_at, capabilities) values ('old', clock_timestamp(), '{}')"),
    );
    const written = put();
    await expect.poll(waiting).toBe(1);
    await commit();
    expect(errorOf(await written)).toBe('this policy needs limits, which 1 control plane lacks; upgrade all of them first');
    expect(await needs()).toEqual([]);
  });

  test('does not start, where the write is first', async () => {
    const commit = await holding((client) => raiseNeeds(client, ['what-comes-later']));
    const joining = joinDatabase(rest.pool, 'old').then(
      () => 'joined',
      (error: unknown) => String(error),
    );
    await expect.poll(waiting).toBe(1);
    await commit();
    expect(await joining).toContain('It needs: what-comes-later');
    expect((await rest.pool.query("select 1 from run_instance where id = 'old'")).rows).toEqual([]);
  });
});

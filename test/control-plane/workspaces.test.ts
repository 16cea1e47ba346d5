import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createIngest } from '../../control-plane/audit/operations/ingest-batch.ts';
import { seedFirstWorkspace } from '../../control-plane/workspaces/operations/seed-first-workspace.ts';
import { createTestDatabase } from '../support/database.ts';
import { createRest, field, operatorKey, type Rest } from './rest.ts';
import { acknowledgedOf, batchOf, record, spool } from './spool.ts';

describe('workspaces, by the operator', () => {
  let rest: Rest;
  beforeAll(async () => {
    rest = await createRest();
  });
  afterAll(() => rest.close());

  const url = '/api/v1/workspaces';
  const operator = { key: operatorKey };
  const body = { slug: 'new-one', owner: { uid: 'nora', email: 'nora@new.test' } };

  test('one is created with its owner and a valid key, listed, and removed with everything in it', async () => {
    const made = await rest.ask('POST', url, { ...operator, body });
    expect(made).toMatchObject({ status: 200, body: { ok: true, slug: 'new-one' } });
    const key = field(made, 'key');
    expect((await rest.ask('POST', '/api/v1/agents', { key, body: { name: 'x', model: 'y' } })).status).toBe(200);
    expect((await rest.ask('GET', url, operator)).body).toMatchObject({
      workspaces: expect.arrayContaining([expect.objectContaining({ slug: 'new-one' })]),
    });
    const { rows } = await rest.pool.query<{ id: string }>('select id from workspace where slug = $1', ['new-one']);
    const workspaceId = Number(rows[0]?.id);
    acknowledgedOf(await createIngest(rest.deps)(batchOf({ workspaceId, spoolId: spool('a'), records: [record(2, '{}')] })));
    expect((await rest.ask('DELETE', `${url}/new-one`, { ...operator, body: { slug: 'acme' } })).status).toBe(400);
    expect((await rest.ask('DELETE', `${url}/new-one`, { ...operator, body: { slug: 'new-one' } })).status).toBe(200);
    expect((await rest.ask('GET', '/api/v1/agents', { key })).status).toBe(401);
    for (const table of [
      'agent',
      'member',
      'api_key',
      'admin_event',
      'audit_entry',
      'decision_count',
      'finding_count',
      'count_head',
      'audit_stream',
      'audit_head',
      'audit_gap',
      'audit_sent',
      'audit_checkpoint',
      'audit_retired',
      'policy_document',
      'policy_history',
      'tool_server',
    ]) {
      expect((await rest.pool.query(`select 1 from ${table} where workspace_id = $1`, [workspaceId])).rowCount).toBe(0);
    }
    expect((await rest.ask('DELETE', `${url}/new-one`, { ...operator, body: { slug: 'new-one' } })).status).toBe(404);
  });

  test('a slug that is taken is 409; a reserved or malformed one 400', async () => {
    expect((await rest.ask('POST', url, { ...operator, body: { ...body, slug: 'acme' } })).status).toBe(409);
    for (const slug of ['api', 'admin', 'Acme', 'a_b', '-a', '', 'a'.repeat(41)]) {
      expect((await rest.ask('POST', url, { ...operator, body: { ...body, slug } })).status).toBe(400);
    }
  });

  test('a workspace key is 401 here, and the operator key is 401 elsewhere', async () => {
    for (const key of [rest.owner, null, `${operatorKey}x`]) expect((await rest.ask('GET', url, { key })).status).toBe(401);
    expect((await rest.ask('GET', '/api/v1/agents', operator)).status).toBe(401);
  });
});

describe('the first start', () => {
  const ownerKey = `gsk_acme_${'k'.repeat(40)}`;
  const wanted = { workspace: 'acme', ownerEmail: 'o@acme.test', ownerKey: null };
  const start = async () => {
    const database = await createTestDatabase();
    const deps = {
      pool: database.pool,
      clock: () => new Date(),
      random: randomBytes,
      defaults: { defaultPermission: 'allow', windowSeconds: 60 },
    } as const;
    return { database, seed: (ownerKey: string | null) => seedFirstWorkspace(deps, { ...wanted, ownerKey }) };
  };

  test('makes a key once, however many replicas start at once; later starts make none', async () => {
    const { database, seed } = await start();
    const seeded = await Promise.all([seed(null), seed(null), seed(null)]);
    expect(seeded.filter(({ kind }) => kind === 'created')).toEqual([
      { kind: 'created', workspace: 'acme', key: expect.stringMatching(/^gsk_acme_/) },
    ]);
    expect(await seed(null)).toEqual({ kind: 'present' });
    expect(await seed(ownerKey)).toMatchObject({ kind: 'refused', reason: expect.stringContaining('TOLLGATE_OWNER_KEY') });
    await database.close();
  });

  test('accepts the operator’s key and does not show it; the same key starts again, another is refused', async () => {
    const { database, seed } = await start();
    expect(await seed(ownerKey)).toEqual({ kind: 'created', workspace: 'acme', key: null });
    expect(await seed(ownerKey)).toEqual({ kind: 'present' });
    expect(await seed(null)).toEqual({ kind: 'present' });
    const other = await seed(`gsk_acme_${'x'.repeat(40)}`);
    expect(other).toMatchObject({ kind: 'refused', reason: expect.stringMatching(/unset it.*\/admin\/keys/) });
    expect(JSON.stringify(other)).not.toContain('tollgate keys');
    expect(JSON.stringify(other)).not.toContain('xxxx');
    const { rows } = await database.pool.query('select epoch from deployment');
    expect(rows).toEqual([{ epoch: expect.stringMatching(/^[0-9a-f]{32}$/) }]);
    await database.close();
  });

  test('refuses an invalid key, or one of another workspace, and leaves the database empty', async () => {
    const { database, seed } = await start();
    for (const key of ['secret', `gsk_other_${'k'.repeat(40)}`]) expect((await seed(key)).kind).toBe('refused');
    expect((await database.pool.query('select 1 from deployment')).rowCount).toBe(0);
    expect((await database.pool.query('select 1 from workspace')).rowCount).toBe(0);
    await database.close();
  });
});

// A revocation takes effect: at sidecars with the next revision they acknowledge, and in open streams (within five
// seconds: test/long/revocation.test.ts). sessions.test.ts tests the next request at any control plane.
import { policyNeeds } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGrpcMetrics } from '../../control-plane/grpc/metrics.ts';
import { startGrpcServer } from '../../control-plane/grpc/server.ts';
import { authenticate, stillStands } from '../../control-plane/access/operations/authenticate.ts';
import { createStreamSeats } from '../../control-plane/grpc/stream-seats.ts';
import { createPublisher } from '../../control-plane/publish/publisher.ts';
import { readWorkspace } from '../../control-plane/workspaces/store/workspace-state.ts';
import { createTestServer } from '../support/governing.ts';
import { followPlane, openShip, openSync, type Plane, startPlane } from '../support/plane.ts';
import { silentLog } from '../support/silent-log.ts';
import { temporaryFolder } from '../support/spools.ts';
import { field } from './rest.ts';
import { hello, openForEach, waysToRevoke } from './revoking.ts';
import { entry, shipped, spool } from './spool.ts';

let plane: Plane;
let began: Date;
beforeAll(async () => {
  plane = await startPlane();
  began = plane.clock.now;
});
afterAll(() => plane.close());
beforeEach(() => {
  plane.clock.now = began;
  plane.aheadMs = 0;
});

const unauthenticated: unknown = expect.stringMatching(/^UNAUTHENTICATED: this key /);

test(`a key that ${waysToRevoke.join(', ')} ends its open streams`, async () => {
  for (const { way, revoke, ended } of await openForEach(plane)) {
    await revoke();
    expect({ way, ends: await ended }).toEqual({ way, ends: [unauthenticated, unauthenticated] });
  }
});

test('a batch that arrives with the revocation is ingested completely or not, and the stream ends either way', async () => {
  const { key, id } = await plane.issueKey(['sidecar.sync']);
  const audit = openShip(plane, key);
  audit.write({ hello: { sidecarId: 'by-hand' } });
  await audit.next();
  const records = [1, 2, 3].map((sequence) => ({ sequence, entry: Buffer.from(JSON.stringify(entry({ ts: new Date().toISOString() }))) }));
  audit.write({ batch: { ...shipped(spool('a')), records } });
  await plane.ask('DELETE', `/acme/admin/keys/${id}`);
  expect(await audit.ended).toMatch(/^UNAUTHENTICATED: /);
  const { rowCount } = await plane.pool.query('select 1 from audit_entry where spool_id = $1', [spool('a')]);
  expect([0, 3]).toContain(rowCount);
});

test('a stream whose key is valid stays open while others end, and while the database is away', async () => {
  const { key } = await plane.issueKey(['sidecar.sync']);
  const other = await plane.issueKey(['sidecar.sync']);
  const [stays, ends] = [openShip(plane, key), openShip(plane, other.key)];
  for (const wire of [stays, ends]) {
    wire.write({ hello: { sidecarId: 'by-hand' } });
    await wire.next();
  }
  const query = plane.pool.query.bind(plane.pool);
  let asked = 0;
  Object.assign(plane.pool, {
    query: () => {
      asked += 1;
      return Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
    },
  });
  try {
    await expect.poll(() => asked, { timeout: 8_000 }).toBeGreaterThan(4);
  } finally {
    Object.assign(plane.pool, { query });
  }
  await plane.ask('DELETE', `/acme/admin/keys/${other.id}`);
  expect(await ends.ended).toMatch(/^UNAUTHENTICATED: /);
  stays.write({ batch: { ...shipped(spool('b')), records: [{ sequence: 1, entry: Buffer.from(JSON.stringify(entry())) }] } });
  expect(await stays.next()).toMatchObject({ acknowledged: { sequence: 1 } });
});

test('a stream whose key this control plane does not know yet waits, and is not refused', async () => {
  const late = createPublisher({
    read: (id, since) => readWorkspace(plane.pool, id, since),
    defaults: plane.deps.defaults,
    log: silentLog,
  });
  const grpc = await startGrpcServer(
    {
      publisher: late,
      needs: policyNeeds,
      roster: plane.roster,
      wallTime: Date.now,
      random: Math.random,
      metrics: createGrpcMetrics(new Registry()),
      log: silentLog,
      authenticate: (header) => authenticate(plane.deps, header),
      stillStands: (actor) => stillStands(plane.deps, actor),
      ingest: plane.ingest,
      ledger: plane.ledger,
      approvalLedger: plane.approvalLedger,
      seats: createStreamSeats({ ofWorkspace: 1, ofKey: 1 }),
    },
    { host: '127.0.0.1', port: 0 },
  );
  const there = { address: () => `127.0.0.1:${grpc.port}` };
  const first = openSync(there, (await plane.issueKey(['sidecar.sync'])).key);
  first.write(hello);
  await first.next();
  const wire = openSync(there, (await plane.issueKey(['sidecar.sync'])).key);
  wire.write(hello);
  await expect.poll(() => wire.received.length).toBeGreaterThan(0);
  expect(wire.received.map(({ message }) => message)).not.toContain('snapshot');
  const { rows } = await plane.pool.query<{ id: string }>("select id from workspace where slug = 'acme'");
  late.raised(Number(rows[0]?.id), await plane.revision(), Date.now());
  expect((await wire.next()).message).toBe('snapshot');
  late.close();
  await grpc.close();
});

describe('at a sidecar, with the next revision it acknowledges', () => {
  async function start() {
    const { key } = await plane.issueKey(['sidecar.sync']);
    const { sidecar, reaches } = await followPlane(plane, { key, spoolDir: temporaryFolder() });
    const { app } = createTestServer(sidecar);
    const use = async (by: string): Promise<string> => {
      const headers = { authorization: `Bearer ${by}` };
      const answer = await app.inject({
        method: 'POST',
        url: '/govern/tool-use',
        headers,
        payload: { tool_name: 'mail.send', tool_input: {}, agent_name: 'bot', session_id: 's' },
      });
      const { decision = '', reason = '' } = answer.json<{ decision?: string; reason?: string }>();
      return `${answer.statusCode} ${decision} ${reason.split(':', 1)[0]}`.trim();
    };
    const settled = async (): Promise<void> => reaches(await plane.revision());
    return { use, settled };
  }
  const allowed = '200 allow allowed';

  test('a revoked key cannot ask any more', async () => {
    const { use, settled } = await start();
    const { key, id } = await plane.issueKey(['govern']);
    await settled();
    expect(await use(key)).toBe(allowed);
    await plane.ask('DELETE', `/acme/admin/keys/${id}`);
    await settled();
    expect(await use(key)).toMatch(/^401/);
  });

  test('the old secret of a rotated key cannot ask any more, and the new one can', async () => {
    const { use, settled } = await start();
    const { key, id } = await plane.issueKey(['govern']);
    const fresh = field(await plane.ask('POST', `/acme/admin/keys/${id}/rotate`), 'key');
    await settled();
    expect(await use(key)).toMatch(/^401/);
    expect(await use(fresh)).toBe(allowed);
  });

  test('the keys of a member who leaves end, and so do those they made', async () => {
    const { use, settled } = await start();
    const own = await plane.keyOf('admin', ['*'], 'goes');
    const made = field(await plane.ask('POST', '/acme/admin/keys', { key: own, body: { name: 'made', scopes: ['govern'] } }), 'key');
    await settled();
    for (const key of [own, made]) expect(await use(key)).toBe(allowed);
    await plane.ask('DELETE', '/acme/admin/members/goes');
    await settled();
    for (const key of [own, made]) expect(await use(key)).toMatch(/^401/);
  });

  test('a member who is demoted is governed by the policy of their new role, with the keys they made', async () => {
    const { use, settled } = await start();
    const own = await plane.keyOf('admin', ['*'], 'sinks');
    const made = field(await plane.ask('POST', '/acme/admin/keys', { key: own, body: { name: 'made', scopes: ['govern'] } }), 'key');
    const rule = { permission: 'deny' };
    const body = { defaults: { interactive: rule, subagent: rule, background: rule, api: rule } };
    expect((await plane.ask('PUT', '/acme/admin/rolePolicies/member', { body })).status).toBe(200);
    await settled();
    for (const key of [own, made]) expect(await use(key)).toBe(allowed);
    await plane.ask('PATCH', '/acme/admin/members/sinks', { body: { role: 'member' } });
    await settled();
    for (const key of [own, made]) expect(await use(key)).toBe('200 deny policy_denied');
  });
});

// The ledger of approvals on a real database, by several control planes at once: uses, times, bounds, lost answers.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { Pool } from 'pg';
import type { ApprovalStatus } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApprovalLedger } from '../../../control-plane/approvals/operations/ledger.ts';
import { createApprovalKeys } from '../../../control-plane/approvals/operations/secrets.ts';
import { expireDue, removeOldApprovals } from '../../../control-plane/approvals/operations/expire.ts';
import { markRestored } from '../../../control-plane/database/restored.ts';
import { reseal } from '../../../control-plane/tool-servers/operations/reseal.ts';
import { createSealer } from '../../../control-plane/tool-servers/store/sealed.ts';
import { askOf, digestOf, ruleOf } from '../../support/approvals.ts';
import { eventually } from '../../support/programs.ts';
import { field } from '../rest.ts';
import { type ApprovalPlane, createApprovalPlane } from './plane.ts';

let plane: ApprovalPlane;
let admin = '';

beforeAll(async () => {
  plane = await createApprovalPlane();
  admin = await plane.keyOf('admin', ['admin.approvals'], 'ada');
  for (const uid of ['ann', 'bob', 'cleo', 'dan']) await plane.keyOf('member', ['govern'], uid);
});
afterAll(() => plane.close());

async function approved(call = plane.call()): Promise<string> {
  const { approvalId } = await plane.pend(call);
  const { status } = await plane.press(approvalId, 'approve', admin);
  expect(status).toBe(200);
  return approvalId;
}

test('a use raced by requests of two control planes is granted once, and again to the request that has it', async () => {
  const [one, two] = [plane.openLink(), plane.openLink()];
  for (let round = 0; round < 5; round += 1) {
    const call = plane.call({ originSub: 'bob' });
    const id = await approved(call);
    const requests = Array.from({ length: 10 }, (_, at) => `request-${at}`);
    const claims = await Promise.all(requests.map((request, at) => (at % 2 === 0 ? one : two).claim(id, request, call)));
    expect(claims.filter(({ granted }) => granted)).toHaveLength(1);
    const winner = requests[claims.findIndex(({ granted }) => granted)] ?? '';
    const again = await Promise.all([one.claim(id, winner, call), two.claim(id, winner, call)]);
    expect(again.map(({ granted }) => granted)).toEqual([true, true]);
    const { used, state } = await plane.show(id);
    expect({ used, state }).toEqual({ used: 1, state: 'used' });
  }
}, 60_000);

test('asks of the same call by two control planes at once meet one approval', async () => {
  const [one, two] = [plane.openLink(), plane.openLink()];
  for (let round = 0; round < 5; round += 1) {
    const ask = askOf(plane.call({ originSub: 'bob' }));
    const results = await Promise.all([one, two, one, two].map((link) => link.ask(ask)));
    const ids = results.map((result) => (result.kind === 'approval' ? result.approval.approvalId : result.words));
    expect(new Set(ids).size).toBe(1);
    expect(results.filter((result) => result.kind === 'approval' && result.isNew)).toHaveLength(1);
  }
}, 60_000);

test('a returned use can be claimed by another request, never by the same; a return before its claim makes it fail', async () => {
  const call = plane.call();
  const id = await approved(call);
  expect(await plane.link.claim(id, 'a', call)).toMatchObject({ granted: true, approval: { state: 'used' } });
  await plane.link.returned(id, 'a');
  await plane.link.returned(id, 'a');
  await plane.link.returned(id, 'early');
  expect(await plane.link.claim(id, 'a', call)).toMatchObject({ granted: false, approval: { state: 'approved' } });
  expect(await plane.link.claim(id, 'early', call)).toMatchObject({ granted: false });
  expect(await plane.link.claim(id, 'b', call)).toMatchObject({ granted: true, approval: { state: 'used' } });
});

test('a use that returns after a newer approval of the same call was asked for is not usable again', async () => {
  const call = plane.call();
  const id = await approved(call);
  await plane.link.claim(id, 'a', call);
  const newer = await plane.pend(call);
  expect(newer.approvalId).not.toBe(id);
  await plane.link.returned(id, 'a');
  expect(await plane.show(id)).toMatchObject({ state: 'expired', used: 0 });
  expect(await plane.show(newer.approvalId)).toMatchObject({ state: 'pending' });
});

test('times are those of the database: a control plane an hour ahead or behind changes nothing', async () => {
  const call = plane.call({ originSub: 'bob', rules: [ruleOf({ pendingSeconds: 600, validSeconds: 100 })] });
  for (const hours of [-1, 1]) {
    const now = new Date(Date.now() + hours * 3_600_000);
    plane.clock.now = now;
    const own = { ...call, inputSha256: digestOf({ hours }) };
    const { approvalId, remainingMs } = await plane.pend(own);
    expect(remainingMs).toBeGreaterThan(500_000);
    expect(remainingMs).toBeLessThanOrEqual(600_000);
    expect((await plane.press(approvalId, 'approve', admin)).status).toBe(200);
    await plane.age(approvalId, 99);
    expect(await plane.link.claim(approvalId, 'late', own)).toMatchObject({ granted: true });
  }
  plane.clock.now = new Date();
});

test('what no one answers in time has expired for everyone at once, and is recorded once', async () => {
  const call = plane.call();
  const { approvalId } = await plane.pend(call);
  await plane.age(approvalId, 86_401);
  expect(await plane.show(approvalId)).toMatchObject({ state: 'expired' });
  expect(await plane.link.read(approvalId, plane.keyId)).toMatchObject({ state: 'expired', remainingMs: 0 });
  expect(await plane.press(approvalId, 'approve', admin)).toMatchObject({ status: 409 });
  const usable = plane.call();
  const used = await approved(usable);
  await plane.age(used, 901);
  expect(await plane.link.claim(used, 'late', usable)).toMatchObject({ granted: false, approval: { state: 'expired' } });
  await Promise.all([expireDue(plane.deps), expireDue(plane.deps)]);
  for (const id of [approvalId, used]) {
    const { rows } = await plane.pool.query("select 1 from approval_event where approval_id = $1 and action = 'expired'", [id]);
    expect(rows).toHaveLength(1);
  }
  // The same call asks again.
  expect(await plane.pend(call)).toMatchObject({ state: 'pending' });
});

test('a link that waits is told of a decision, also without a notification, and not of the approvals of others', async () => {
  const told: ApprovalStatus[] = [];
  const link = plane.openLink({}, (status) => void told.push(status));
  const wrong = plane.openLink({ onlyKey: 'another' }, (status) => void told.push({ ...status, note: 'wrong' }));
  const { approvalId } = await plane.pend(plane.call());
  const due = await plane.pend(plane.call({ originSub: 'bob' }));
  for (const one of [link, wrong]) for (const id of [approvalId, approvalId, due.approvalId, 'nonsense']) one.watch(id);
  await plane.press(approvalId, 'deny', admin, { note: 'no' });
  await plane.age(due.approvalId, 86_401);
  await eventually(
    () => Promise.resolve(told.length),
    (count) => count >= 2,
  );
  const byId = (id: string) => told.filter((status) => status.approvalId === id);
  expect(byId(approvalId)).toMatchObject([{ state: 'denied', note: 'no', by: 'ada' }]);
  expect(byId(due.approvalId)).toMatchObject([{ state: 'expired' }]);
  // A watch that begins after the decision is answered too.
  link.watch(approvalId);
  await eventually(
    () => Promise.resolve(byId(approvalId).length),
    (count) => count === 2,
  );
  for (const one of [link, wrong]) one.close();
});

test('a session and a subject may ask only so much', async () => {
  const session = { originSub: 'cleo', sessionId: 'tiring' };
  const ask = (input: number, more = {}) => plane.link.ask(askOf(plane.call({ ...session, inputSha256: digestOf(input), ...more })));
  for (let at = 0; at < 10; at += 1) expect(await ask(at)).toMatchObject({ kind: 'approval' });
  expect(await ask(10)).toMatchObject({
    code: 'approvals_full',
    words: '10 calls of this session already wait for a person, which is the maximum',
    retryAfterMs: 60_000,
  });
  // A call that has an approval already meets it.
  expect(await ask(3)).toMatchObject({ kind: 'approval', isNew: false });
  const cancelAll = () =>
    plane.pool.query("update approval set state = 'cancelled', due_at = null where origin_sub = 'cleo' and state = 'pending'");
  for (let round = 1; round < 3; round += 1) {
    await cancelAll();
    for (let at = 0; at < 10; at += 1) expect(await ask(100 * round + at)).toMatchObject({ kind: 'approval' });
  }
  await cancelAll();
  expect(await ask(400)).toMatchObject({ code: 'approvals_full', words: expect.stringContaining('30 times within an hour') });
  for (let at = 0; at < 100; at += 1) expect(await ask(at, { sessionId: `cleo-${at}` })).toMatchObject({ kind: 'approval' });
  expect(await ask(0, { sessionId: 'one-more' })).toMatchObject({
    code: 'approvals_full',
    words: '100 calls for this subject already wait for a person, which is the maximum',
  });
  // Of others it takes nothing.
  expect(await plane.pend(plane.call({ originSub: 'dan' }))).toMatchObject({ state: 'pending' });
  await cancelAll();
  await plane.pool.query("update approval set bytes = 700000 where origin_sub = 'cleo'");
  expect(await ask(0, { sessionId: 'large' })).toMatchObject({ words: expect.stringContaining('bytes') });
}, 60_000);

test('a call that no member may answer is refused at once', async () => {
  const refused = { kind: 'refused', code: 'approval_unanswerable' };
  const ask = (more: Parameters<typeof ruleOf>[0], call = {}) => plane.link.ask(askOf(plane.call({ rules: [ruleOf(more)], ...call })));
  expect(await ask({ approvers: ['user:gone'] })).toMatchObject(refused);
  expect(await ask({ approvers: ['subject'] })).toMatchObject(refused);
  expect(await ask({ need: 5 })).toMatchObject(refused);
  expect(await ask({ approvers: ['user:owner'], independent: true })).toMatchObject(refused);
  expect(await ask({ approvers: ['role:owner'] }, { originSub: 'owner' })).toMatchObject(refused);
  expect(await ask({ approvers: ['subject'], self: true })).toMatchObject({ kind: 'approval' });
});

test('no approval is made if none is wanted', async () => {
  const call = plane.call();
  expect(await plane.link.ask(askOf(call, { mayCreate: false }))).toMatchObject({ kind: 'refused', code: null });
  const { approvalId } = await plane.pend(call);
  expect(await plane.link.ask(askOf(call, { mayCreate: false }))).toMatchObject({ approval: { approvalId } });
});

test('a thousand pending of one workspace, and asks that wait for a lock there, delay no other workspace', async () => {
  const other = plane.workspaceOf('other');
  await plane.pool.query(
    `insert into approval (workspace_id, id, question_id, state, created_at, changed_at, expires_at, due_at, key_id, origin_sub, session_id, agents,
       agent_type, tier, tool, rules, rule_digests, approvers, call_hmac, valid_seconds, uses, need, revision_epoch, revision, claimed_client,
       round_id, shown_input, findings, hidden, bytes)
     select $1, 'flood' || n, 'flood' || n, 'pending', now(), now(), now() + interval '1 day', now() + interval '1 day', 'k', 'flooder', 's' || n,
       '{}', '', 'api', 'pay', '[]', '{}', '{}', decode(md5(n::text), 'hex'), 1, 1, 1, 'e', 1, '', '', '{}', '[]', '[]', 1
     from generate_series(1, 1000) as n`,
    [plane.workspaceId],
  );
  const made = await plane.ask('POST', '/other/admin/keys', { key: plane.other, body: { name: 'sidecar', scopes: ['sidecar.sync'] } });
  const keyId = field(made, 'id');
  const theirs = plane.openLink({ workspaceId: other, owner: 'other' });
  const blocker = await plane.pool.connect();
  await blocker.query('begin');
  await blocker.query('select pg_advisory_xact_lock(7605533, hashtext($1))', [`${plane.workspaceId} ann`]);
  const waiting = Array.from({ length: 50 }, () => plane.link.ask(askOf(plane.call())).catch((error: unknown) => error));
  const rules = [ruleOf({ approvers: ['role:owner'] })];
  const call = { ...plane.call({ rules }), keyId, originSub: `apikey:${keyId}` };
  // The key is a service key, so its calls are made for itself.
  const { approvalId } = await plane.pend(call, {}, theirs);
  const pressed = await plane.ask('POST', `/other/admin/approvals/${approvalId}/approve`, { key: plane.other, body: {} });
  expect(pressed.status).toBe(200);
  expect(await theirs.claim(approvalId, 'r', call)).toMatchObject({ granted: true });
  await blocker.query('rollback');
  blocker.release();
  await Promise.all(waiting);
}, 60_000);

test('a connection that is cut between claim and answer: the claim is repeated, and is one use', async () => {
  const call = plane.call();
  const id = await approved(call);
  const lossy = await createLossyPool(plane.pool);
  const cut = createApprovalLedger({ ...plane.deps, pool: lossy.pool, watch: plane.approvalWatch, log: { warn: () => undefined } });
  const link = cut.open({ workspaceId: plane.workspaceId, onlyKey: null, onlySub: null, isLocal: false, owner: 'cut' }, () => undefined);
  await expect(link.claim(id, 'request', call)).rejects.toThrow();
  expect(lossy.lost()).toBe(1);
  await lossy.close();
  const { rows } = await plane.pool.query('select 1 from approval_use where approval_id = $1', [id]);
  expect(rows).toHaveLength(1);
  expect(await plane.link.claim(id, 'request', call)).toMatchObject({ granted: true, approval: { state: 'used' } });
  expect(await plane.link.claim(id, 'another', call)).toMatchObject({ granted: false });
});

/** A pool whose connections break after the server has received a commit, and before its answer has arrived. */
async function createLossyPool({ options }: Pool) {
  const { host = '', port = 5432 } = options;
  let lost = 0;
  const server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    let isCommitting = false;
    near.on('data', (bytes) => {
      isCommitting ||= bytes.includes('commit');
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!isCommitting) return void near.write(bytes);
      lost += 1;
      near.destroy();
      far.end();
    });
    for (const socket of [near, far]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        near.destroy();
        far.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pool = new Pool({ ...options, host: '127.0.0.1', port: (server.address() as AddressInfo).port, max: 1 });
  pool.on('error', () => undefined);
  return {
    pool,
    lost: () => lost,
    close: async () => {
      await pool.end();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a claim whose transaction is ended by force before its commit has claimed nothing', async () => {
  const call = plane.call();
  const id = await approved(call);
  const blocker = await plane.pool.connect();
  await blocker.query('begin');
  await blocker.query('select 1 from approval where id = $1 for update', [id]);
  const claim = plane.link.claim(id, 'request', call).then(
    () => 'answered',
    () => 'failed',
  );
  const killed = await eventually(
    async () => {
      const { rows } = await plane.pool.query<{ killed: boolean }>(
        `select pg_terminate_backend(pid) as killed from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update%' and pid <> pg_backend_pid()`,
      );
      return rows.length;
    },
    (count) => count > 0,
  );
  expect(killed).toBe(1);
  expect(await claim).toBe('failed');
  await blocker.query('rollback');
  blocker.release();
  expect(await plane.show(id)).toMatchObject({ state: 'approved', used: 0 });
  expect(await plane.link.claim(id, 'request', call)).toMatchObject({ granted: true });
});

test('a restored database has no usable approval, and keeps what is pending', async () => {
  const call = plane.call({ originSub: 'dan' });
  const id = await approved(call);
  const pending = await plane.pend(plane.call({ originSub: 'dan' }));
  await markRestored(plane.pool);
  expect(await plane.link.claim(id, 'r', call)).toMatchObject({ granted: false, approval: { state: 'expired' } });
  expect(await plane.show(pending.approvalId)).toMatchObject({ state: 'pending' });
});

test('approvals that ended long ago are removed with all that belongs to them; others stay', async () => {
  const call = plane.call({ originSub: 'dan' });
  const id = await approved(call);
  await plane.link.claim(id, 'r', call);
  const open = await plane.pend(plane.call({ originSub: 'dan' }));
  await plane.pool.query("update approval set changed_at = now() - interval '91 days' where id = any($1)", [[id, open.approvalId]]);
  expect(await removeOldApprovals(plane.deps, 90)).toBe(1);
  expect(await plane.ask('GET', `/acme/admin/approvals/${id}`)).toMatchObject({ status: 404 });
  expect(await plane.show(open.approvalId)).toMatchObject({ state: 'pending' });
});

test('the secret is made once by any number of control planes, is encrypted once there is a key for it, and follows its rotation', async () => {
  const call = plane.call();
  const sealerOf = (...keys: readonly string[]) =>
    createSealer(
      keys.map((key) => key.repeat(32)),
      randomBytes,
    );
  const keysOf = (sealer: ReturnType<typeof sealerOf> | null) => createApprovalKeys({ pool: plane.pool, random: randomBytes, sealer })();
  const stored = async () =>
    (
      await plane.pool.query<{ secret: Buffer; sealed: boolean }>(
        'select approval_secret as secret, approval_secret_sealed as sealed from deployment',
      )
    ).rows[0];
  await plane.pool.query('update deployment set approval_secret = null, approval_secret_sealed = false');
  const made = await Promise.all(Array.from({ length: 4 }, () => keysOf(null)));
  const [hmac] = made.map((keys) => Buffer.from(keys.callHmac(call)).toString('hex'));
  expect(new Set(made.map((keys) => Buffer.from(keys.callHmac(call)).toString('hex'))).size).toBe(1);
  const plain = await stored();
  const sameHmac = async (sealer: ReturnType<typeof sealerOf> | null) => Buffer.from((await keysOf(sealer)).callHmac(call)).toString('hex');
  expect(await sameHmac(sealerOf('a'))).toBe(hmac);
  expect((await stored())?.sealed).toBe(true);
  expect((await stored())?.secret.includes(plain?.secret ?? '')).toBe(false);
  expect(await reseal({ pool: plane.pool, sealer: sealerOf('b', 'a') })).toMatchObject({ approvalSecrets: { resealed: 1, unopened: [] } });
  expect(await reseal({ pool: plane.pool, sealer: sealerOf('b', 'a') })).toMatchObject({ approvalSecrets: { resealed: 0 } });
  expect(await sameHmac(sealerOf('b'))).toBe(hmac);
  await expect(keysOf(sealerOf('a'))).rejects.toThrow('no key of it decrypts the secret');
  await expect(keysOf(null)).rejects.toThrow('which is not set');
  expect(await reseal({ pool: plane.pool, sealer: sealerOf('c') })).toMatchObject({
    approvalSecrets: { unopened: ['the secret of approvals'] },
  });
  await plane.pool.query('update deployment set approval_secret = null, approval_secret_sealed = false');
});

test('a use is not granted once the key that asked was revoked or has expired, or its person was removed', async () => {
  const issue = async () => {
    const made = await plane.ask('POST', '/acme/admin/keys', { body: { name: 'agent', scopes: ['govern'] } });
    return field(made, 'id');
  };
  const ended = { granted: false, approval: { state: 'cancelled' } };
  const revoked = plane.call({ originSub: 'bob', keyId: await issue() });
  const first = await approved(revoked);
  await plane.ask('DELETE', `/acme/admin/keys/${revoked.keyId}`);
  expect(await plane.link.claim(first, 'r', revoked)).toMatchObject(ended);
  const expired = plane.call({ originSub: 'bob', keyId: await issue() });
  const second = await approved(expired);
  await plane.pool.query("update api_key set expires_at = now() - interval '1 second' where id = $1", [expired.keyId]);
  expect(await plane.link.claim(second, 'r', expired)).toMatchObject(ended);
  await plane.keyOf('member', ['govern'], 'gus');
  const removed = plane.call({ originSub: 'gus' });
  const third = await approved(removed);
  await plane.ask('DELETE', '/acme/admin/members/gus');
  expect(await plane.link.claim(third, 'r', removed)).toMatchObject(ended);
});

test('a claim says whether it is the first use, also when it is repeated', async () => {
  const call = plane.call({ originSub: 'bob', rules: [ruleOf({ uses: 3 })] });
  const id = await approved(call);
  const claim = (request: string) => plane.link.claim(id, request, call);
  expect(await claim('a')).toMatchObject({ granted: true, isFirstUse: true });
  expect(await claim('b')).toMatchObject({ granted: true, isFirstUse: false });
  expect(await claim('a')).toMatchObject({ granted: true, isFirstUse: true });
  await plane.link.returned(id, 'a');
  await plane.link.returned(id, 'b');
  expect(await claim('c')).toMatchObject({ granted: true, isFirstUse: true });
});

test('a use that returns while the same call is asked for is not lost', async () => {
  const call = plane.call({ originSub: 'bob' });
  const id = await approved(call);
  await plane.link.claim(id, 'a', call);
  // The transaction of the ask, which is not committed yet.
  const asking = await plane.pool.connect();
  await asking.query('begin');
  await asking.query('select pg_advisory_xact_lock(7605533, hashtext($1))', [`${plane.workspaceId} bob`]);
  await asking.query(
    `insert into approval select (jsonb_populate_record(a, jsonb_build_object('id', 'newer', 'state', 'pending', 'due_at', a.expires_at))).*
     from approval a where id = $1`,
    [id],
  );
  const returning = plane.link.returned(id, 'a');
  const waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(async () => (await plane.pool.query(waiting)).rows.length).toBeGreaterThan(0);
  await asking.query('commit');
  asking.release();
  await returning;
  expect(await plane.show(id)).toMatchObject({ state: 'expired', used: 0 });
  expect(await plane.show('newer')).toMatchObject({ state: 'pending' });
});

test('of very many watches the oldest is forgotten, and one that is sent again is none of the oldest', async () => {
  const told: string[] = [];
  const link = plane.openLink({}, ({ approvalId }) => told.push(approvalId));
  const [forgotten, kept] = [await plane.pend(plane.call({ originSub: 'bob' })), await plane.pend(plane.call({ originSub: 'bob' }))];
  link.watch(kept.approvalId);
  link.watch(forgotten.approvalId);
  for (let at = 0; at < 1_998; at += 1) link.watch(String(at).padStart(20, 'x'));
  link.watch(kept.approvalId);
  link.watch('y'.repeat(20));
  for (const { approvalId } of [forgotten, kept]) await plane.press(approvalId, 'deny', admin);
  await eventually(
    async () => told.length,
    (count) => count > 0,
  );
  expect(told).toEqual([kept.approvalId]);
  link.watch(forgotten.approvalId);
  await eventually(
    async () => told.length,
    (count) => count > 1,
  );
  expect(told).toEqual([kept.approvalId, forgotten.approvalId]);
  link.close();
}, 60_000);

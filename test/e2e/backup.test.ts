// Tests docs/operate/back-up.md and restore.md: pg_dump of a control plane under load, pg_restore into a new
// database, `tollgate-control-plane restore`. The sidecar continues, every entry is there once or is reported as a gap, and a kept
// checkpoint shows what no gap can report. Messages to channels that wait are in the dump, with their jobs.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { dataOf, idOf, isSignedWith, startReceiver } from '../control-plane/channels/receiver.ts';
import { withClient } from '../support/database.ts';
import { type DebianPostgres, startDebianPostgres } from '../support/debian-postgres.ts';
import { environment } from '../support/environment.ts';
import { needs } from '../support/installed.ts';
import { openShip } from '../support/plane.ts';
import { ask, eventually, type Program, type SidecarProgram, startControlPlane, startSidecarProgram } from '../support/programs.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const root = fileURLToPath(new URL('../..', import.meta.url));
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-backup-'));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function keep<P extends Program>(program: P): P {
  cleanups.push(() => program.end('SIGKILL'));
  return program;
}

/** Runs a program as an operator does. */
function runProgram(bin: string, env: Readonly<Record<string, string>>, args: readonly string[]) {
  return new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((done) => {
    const child = execFile(process.execPath, [bin, ...args], { cwd: root, env: environment(env) }, (_, out, err) =>
      done({ code: child.exitCode ?? -1, out, err }),
    );
  });
}

const tollgate = (env: Readonly<Record<string, string>>, ...args: readonly string[]) => runProgram('cli/bin.js', env, args);

async function call(at: SidecarProgram, n: number): Promise<string> {
  const { body } = await ask(`${at.url}/govern/tool-use`, ownerKey, {
    body: { tool_name: 'files.read', tool_input: { n }, session_id: 'backup', agent_tier: 'api' },
  });
  expect(body['decision']).toBe('allow');
  return String(body['request_id']);
}

/** Makes calls in sequence until it is stopped; resolves with their ids. */
function keepCalling(at: SidecarProgram): () => Promise<readonly string[]> {
  let isCalling = true;
  const made: string[] = [];
  const calling = (async () => {
    while (isCalling) made.push(await call(at, made.length));
  })();
  return async () => {
    isCalling = false;
    await calling;
    return made;
  };
}

/** How often each request is in the log, and what the log reports as missing. */
async function readLog(postgres: DebianPostgres, database: string) {
  return withClient(postgres.address(database), async (client) => {
    const { rows } = await client.query<{ id: string; spool: string; n: string }>(
      `select entry->>'requestId' as id, spool_id as spool, count(*) as n from audit_entry group by 1, 2`,
    );
    const gaps = await client.query<{ spool: string; reason: string; lost: string }>(
      'select spool_id as spool, reason, sum(last_sequence - first_sequence + 1) as lost from audit_gap group by 1, 2',
    );
    return { times: new Map(rows.map(({ id, n }) => [id, Number(n)])), gaps: gaps.rows };
  });
}

test('after a dump under load is restored into a new database, the sidecar continues, and every entry is there once or reported as a gap', {
  ...needs('pg_dump'),
  timeout: 60_000,
}, async () => {
  const postgres = await startDebianPostgres();
  cleanups.push(() => postgres.close());
  const [dump, dataDir, spoolDir] = [join(postgres.folder, 'tollgate.dump'), folder(), folder()];
  await postgres.program('createdb', '-h', postgres.folder, '-U', 'postgres', 'tollgate');
  const planeEnv = { TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey };
  const plane = keep(await startControlPlane({ ...planeEnv, DATABASE_URL: postgres.url('tollgate') }));
  const cliEnv = { TOLLGATE_URL: plane.rest, TOLLGATE_KEY: ownerKey };
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'edge', scopes: ['sidecar.sync'] } });
  const edge = async (spool: string): Promise<SidecarProgram> => {
    const started = keep(
      await startSidecarProgram({
        TOLLGATE_CONTROL_PLANE: plane.grpc,
        TOLLGATE_KEY: String(made.body['key']),
        TOLLGATE_SPOOL_DIR: spool,
      }),
    );
    await eventually(
      () => ask(`${started.url}/readyz`, ownerKey),
      ({ status }) => status === 200,
    );
    return started;
  };
  const delivered = (database: string, ids: readonly string[]) =>
    eventually(
      () => readLog(postgres, database),
      ({ times }) => ids.every((id) => times.has(id)),
    );
  const checkpoint = async (name: string): Promise<string> => {
    const path = join(dataDir, name);
    expect((await tollgate(cliEnv, 'audit', 'checkpoint', '-o', path)).code).toBe(0);
    return path;
  };

  const living = await edge(spoolDir);
  const before = [await call(living, 1), await call(living, 2)];
  await delivered('tollgate', before);
  const keptBefore = await checkpoint('before.txt');

  const stop = keepCalling(living);
  await postgres.program('pg_dump', '-h', postgres.folder, '-U', 'postgres', '--format=custom', `--file=${dump}`, 'tollgate');
  const after = await call(living, 3);
  const during = await stop();
  await delivered('tollgate', [...during, after]);

  // The dump does not contain these: a change, and a sidecar that connected and left.
  const raised = await ask(`${plane.rest}/default/admin/workspacePolicy`, ownerKey, {
    method: 'PUT',
    body: { tools: { 'mail.send': { api: { permission: 'deny' } } } },
  });
  expect(raised.status).toBe(200);
  const brief = await edge(folder());
  const ofBrief = [await call(brief, 4), await call(brief, 5)];
  await delivered('tollgate', ofBrief);
  expect(await brief.end()).toBe(0);
  const keptAfter = await checkpoint('after.txt');

  expect(await plane.end()).toBe(0);
  const away = [await call(living, 6), await call(living, 7), await call(living, 8)];

  await postgres.program('createdb', '-h', postgres.folder, '-U', 'postgres', 'restored');
  await postgres.program('pg_restore', '-h', postgres.folder, '-U', 'postgres', '--exit-on-error', '--dbname=restored', dump);
  const restored = await runProgram('control-plane/bin.js', { DATABASE_URL: postgres.url('restored') }, ['restore']);
  expect(restored).toMatchObject({ code: 0, err: expect.stringContaining('of 1 workspaces fetches its policy again') });
  const port = plane.grpc.split(':').at(-1) ?? '';
  const again = keep(await startControlPlane({ ...planeEnv, DATABASE_URL: postgres.url('restored'), TOLLGATE_GRPC_PORT: port }));

  const last = await call(living, 9);
  const { times, gaps } = await delivered('restored', [...before, ...away, last]);
  expect(Math.max(...times.values())).toBe(1);
  const epoch = /^epoch ([0-9a-f]{32}),/.exec(restored.out)?.[1];
  const held = await eventually(
    () => ask(`${living.url}/healthz`, ownerKey),
    ({ body }) => JSON.stringify(body['policy']).includes(String(epoch)),
  );
  expect(held.body['policy']).toMatchObject({ epoch, revision: Number(raised.body['revision']) - 1 });

  // The gap is exact for the spool that still exists. For the removed spool nothing is left that could report one.
  const missing = [...during, after].filter((id) => !times.has(id));
  expect(missing).toContain(after);
  expect(gaps.map(({ reason, lost }) => ({ reason, lost: Number(lost) }))).toEqual([
    { reason: 'newer than the backup that was restored', lost: missing.length },
  ]);
  expect(ofBrief.filter((id) => times.has(id))).toEqual([]);

  // The backup holds the SHA-256 of the secrets of spools: no other sidecar takes a spool over, and its owner
  // continues.
  const spoolId = await withClient(postgres.address('restored'), async (client) => {
    const { rows } = await client.query<{ id: string }>(
      "select encode(uuid_send(spool_id), 'hex') as id from audit_stream order by seen_at desc limit 1",
    );
    return rows[0]?.id ?? '';
  });
  const thief = openShip({ address: () => again.grpc }, ownerKey);
  thief.write({ hello: { sidecarId: 'thief' } });
  await thief.next();
  thief.write({ batch: { spoolId, spoolSecret: Buffer.alloc(32, 7), records: [{ sequence: 1, entry: Buffer.from('{}') }] } });
  expect(await thief.next()).toMatchObject({ refused: { spoolId, code: 'wrong_secret' } });
  await delivered('restored', [await call(living, 10)]);

  const log = join(dataDir, 'log.ndjson');
  const now = { TOLLGATE_URL: again.rest, TOLLGATE_KEY: ownerKey };
  expect((await tollgate(now, 'audit', 'export', '--proof', '-o', log)).code).toBe(0);
  expect((await tollgate({}, 'audit', 'verify', log, '--checkpoint', keptBefore)).code).toBe(0);
  expect(await tollgate({}, 'audit', 'verify', log, '--checkpoint', keptAfter)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^REFUSED: /m),
  });
  process.stdout.write(
    `backup: ${during.length} calls during the dump and after it, ${missing.length} of them newer than it and told as a gap, ${away.length} of the time without a control plane kept\n`,
  );
});

test('messages to channels that wait when a dump is made are sent after the restore, with the same id and text; those that were sent are not', {
  ...needs('pg_dump'),
  timeout: 120_000,
}, async () => {
  const postgres = await startDebianPostgres();
  cleanups.push(() => postgres.close());
  const receiver = await startReceiver();
  cleanups.push(() => receiver.close());
  const dump = join(postgres.folder, 'tollgate.dump');
  await postgres.program('createdb', '-h', postgres.folder, '-U', 'postgres', 'tollgate');
  const env = { TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey, TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true' };
  const plane = keep(await startControlPlane({ ...env, DATABASE_URL: postgres.url('tollgate') }));
  const admin = `${plane.rest}/default/admin`;
  const channel = await ask(`${admin}/approvalChannels/chat`, ownerKey, { method: 'PUT', body: { url: receiver.origin, default: true } });
  const secret = String(channel.body['secret']);
  const policy = { tools: { pay: { api: { permission: 'ask' } } } };
  expect((await ask(`${admin}/workspacePolicy`, ownerKey, { method: 'PUT', body: policy })).status).toBe(200);
  const { body: made } = await ask(`${admin}/keys`, ownerKey, { body: { name: 'agent', scopes: ['govern'] } });
  const pend = async (amount: number): Promise<string> => {
    const call = { tool_name: 'pay', tool_input: { amount }, session_id: 'backup', agent_tier: 'api' };
    return String((await ask(`${plane.rest}/govern/tool-use`, String(made['key']), { body: call })).body['approval_id']);
  };
  /** Waits for a message of which an attempt has ended so. */
  const messageWith = (wanted: object) =>
    eventually(
      () => ask(`${admin}/approvalMessages`, ownerKey),
      ({ body }) => {
        const { messages } = body;
        return Array.isArray(messages) && messages.some((one) => Object.entries(wanted).every(([name, value]) => one[name] === value));
      },
    );

  await pend(1);
  const sent = await receiver.next();
  await messageWith({ state: 'sent' });
  // The receiver refuses for as long as the first control plane lives.
  receiver.replies.push(...Array.from({ length: 20 }, () => ({ status: 503 })));
  const waiting = await pend(2);
  const refused = await receiver.next();
  await messageWith({ state: 'waiting', problem: 'it answered with status 503' });
  await postgres.program('pg_dump', '-h', postgres.folder, '-U', 'postgres', '--format=custom', `--file=${dump}`, 'tollgate');
  expect(await plane.end()).toBe(0);
  receiver.replies.length = 0;
  const before = receiver.deliveries.length;

  await postgres.program('createdb', '-h', postgres.folder, '-U', 'postgres', 'restored');
  await postgres.program('pg_restore', '-h', postgres.folder, '-U', 'postgres', '--exit-on-error', '--dbname=restored', dump);
  const jobs = await withClient(postgres.address('restored'), (client) =>
    client.query('select key from tollgate_jobs.jobs where key is not null'),
  );
  expect(jobs.rows).toContainEqual({ key: expect.stringContaining(idOf(refused)) });
  expect((await runProgram('control-plane/bin.js', { DATABASE_URL: postgres.url('restored') }, ['restore'])).code).toBe(0);
  const again = keep(await startControlPlane({ ...env, DATABASE_URL: postgres.url('restored') }));
  await eventually(
    async () => receiver.deliveries.length,
    (count) => count > before,
    60_000,
  );
  const [resent] = receiver.deliveries.slice(before);
  if (resent === undefined) throw new Error('a message must have been sent again');
  expect({ id: idOf(resent), body: resent.body }).toEqual({ id: idOf(refused), body: refused.body });
  expect(isSignedWith(secret, resent)).toBe(true);

  // The restored outbox takes new messages.
  const deny = await ask(`${again.rest}/default/admin/approvals/${waiting}/deny`, ownerKey, { body: {} });
  expect(deny.status).toBe(200);
  await eventually(
    async () => receiver.deliveries.length,
    (count) => count > before + 1,
  );
  const ended = receiver.deliveries.slice(before + 1).map(dataOf);
  expect(ended).toMatchObject([{ type: 'approval.denied', data: { approval: waiting } }]);
  expect(receiver.deliveries.filter((delivery) => idOf(delivery) === idOf(sent))).toHaveLength(1);
});

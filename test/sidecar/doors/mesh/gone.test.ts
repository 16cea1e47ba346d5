// A gateway that has ended its request before our answer lets nothing pass. The entry records it, and nothing is
// counted. A client that cancels asks as Envoy does. The leases use a ledger that answers when the test decides.
import { spawnSync } from 'node:child_process';
import { authorizationService } from '@tollgate/proto/mesh';
import { expect, test } from 'vitest';
import { createLeasedCounters } from '../../../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../../../sidecar/engine/limits/leases.ts';
import { ruleFor } from '../../../support/snapshots.ts';
import { answerOf, httpCheck, mcpRequest, startTestMesh } from './asked-by-a-gateway.ts';

const limited = { documents: [ruleFor('pay', { rateLimit: 1 })] };
const asked = httpCheck({ headers: { 'content-type': 'application/json' }, body: '{}' });
const codesOf = async ({ entries }: { readonly entries: () => Promise<readonly object[]> }): Promise<readonly unknown[]> =>
  (await entries()).map((entry) => {
    const { hookEvent, code, requestId, outcome } = entry as Record<string, unknown> & { readonly outcome?: object };
    return outcome === undefined ? [hookEvent, code, requestId] : [hookEvent, code, requestId, outcome];
  });
const blocked = { isError: true, durationMs: 0, action: 'block', code: 'caller_gone' };

/** Starts a mesh whose entries are recorded when the test decides. */
async function startHeld(world: Parameters<typeof startTestMesh>[0] = limited) {
  const mesh = await startTestMesh(world);
  const { spool } = mesh.sidecar;
  const waiting: (() => void)[] = [];
  let isHeld = true;
  Object.assign(mesh.sidecar, {
    spool: {
      ...spool,
      appendAsync: async (json: string) => {
        if (isHeld) await new Promise<void>((done) => waiting.push(done));
        return spool.appendAsync(json);
      },
    },
  });
  const release = (): void => {
    isHeld = false;
    for (const done of waiting.splice(0)) done();
  };
  return { ...mesh, waiting, release };
}

test('a call that was permitted, and whose gateway disconnected before the answer, is given back with a second entry', async () => {
  const { envoy, check, sidecar, waiting, release, failures } = await startHeld();
  const call = envoy.Check(asked, () => undefined);
  await expect.poll(() => waiting).toHaveLength(1);
  call.cancel();
  // The cancellation has arrived once another request on the same connection has.
  const other = check(httpCheck({ method: 'GET', route: { tollgate_tool: 'look' } }));
  await expect.poll(() => waiting).toHaveLength(2);
  release();
  expect(answerOf(await other).status).toBe(200);
  await expect
    .poll(() => codesOf(sidecar))
    .toEqual([
      ['PreToolUse', 'allowed', 'id-1'],
      ['PreToolUse', 'allowed', 'id-2'],
      ['PostToolUse', 'allowed', 'id-1', blocked],
    ]);
  expect(answerOf(await check(asked)).status).toBe(200);
  expect(answerOf(await check(asked)).status).toBe(429);
  expect(failures).toEqual([]);
});

test('the same holds for a call that agentgateway asks about, which then has no result to come', async () => {
  const { agentgateway, checkRequest, sidecar, waiting, release } = await startHeld({
    documents: [ruleFor('github.read', { rateLimit: 1 })],
  });
  const call = agentgateway.CheckRequest(mcpRequest('tools/call', { name: 'read' }), () => undefined);
  await expect.poll(() => waiting).toHaveLength(1);
  call.cancel();
  const other = checkRequest(mcpRequest('tools/call', { name: 'list' }));
  await expect.poll(() => waiting).toHaveLength(2);
  release();
  await other;
  await expect.poll(async () => (await codesOf(sidecar)).at(-1)).toEqual(['PostToolUse', 'allowed', 'id-1', blocked]);
  expect((await checkRequest(mcpRequest('tools/call', { name: 'read' }))).result).toBe('pass');
  expect((await checkRequest(mcpRequest('tools/call', { name: 'read' }))).result).toBe('error');
});

test('a call that waits for a lease when its gateway disconnects is denied, and uses nothing of later grants', async () => {
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  const { envoy, check, sidecar } = await startTestMesh(limited, 1_000, createLeasedCounters(leases, 60));
  leases.opened();
  leases.policyChanged({ epoch: 'e', number: 1 }, sidecar.time.now);
  const call = envoy.Check(asked, () => undefined);
  await expect.poll(() => leases.waits).toBe(1);
  call.cancel();
  await expect.poll(() => codesOf(sidecar)).toEqual([['PreToolUse', 'caller_gone', 'id-1']]);
  const [ask] = leases.asks(sidecar.time.now);
  if (ask === undefined) throw new Error('nothing was asked');
  const result = { kind: 'grant', id: 1, tokens: 1, ttlMs: 2_000, max: 1, shared: false, ageMs: null } as const;
  leases.answered([{ counter: ask.counter, number: ask.number, result }], sidecar.time.now);
  expect(leases.waits).toBe(0);
  expect(answerOf(await check(asked)).status).toBe(200);
});

test('a process that hung while the gateway asked and disconnected counts nothing of the call', async () => {
  const { address, check, sidecar } = await startTestMesh(limited);
  const message = authorizationService.Check.requestSerialize(asked).toString('base64');
  // Asks as Envoy does and disconnects after its timeout, from a separate process while this one is blocked.
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { connect, constants } from 'node:http2';
       import { connect as connectTo } from 'node:net';
       const [address, message] = process.argv.slice(1);
       const body = Buffer.from(message, 'base64');
       const head = Buffer.alloc(5);
       head.writeUInt32BE(body.length, 1);
       const socket = connectTo(Number(address.split(':').at(-1)), '127.0.0.1');
       const session = connect('http://' + address, { createConnection: () => socket });
       session.on('connect', () => {
         const stream = session.request({ ':method': 'POST', ':path': '/envoy.service.auth.v3.Authorization/Check', 'content-type': 'application/grpc', te: 'trailers' });
         stream.on('error', () => {}).on('close', () => socket.end(() => process.exit(0)));
         stream.end(Buffer.concat([head, body]), () => stream.close(constants.NGHTTP2_CANCEL));
       });`,
      address,
      message,
    ],
    { encoding: 'utf8', timeout: 20_000 },
  );
  expect([status, stderr]).toEqual([0, '']);
  await expect.poll(async () => (await sidecar.entries()).length).toBeGreaterThan(0);
  const entries = await codesOf(sidecar);
  expect(JSON.stringify(entries)).toContain('caller_gone');
  expect(answerOf(await check(asked)).status).toBe(200);
});

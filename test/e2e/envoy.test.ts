// The documented configuration of Envoy, examples/envoy.yaml, in a real Envoy: in front of a tool's server, asking a
// sidecar. Only the ports differ.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createLeasedCounters } from '../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../sidecar/engine/limits/leases.ts';
import { BodyMemory } from '../../sidecar/doors/entrance/body-memory.ts';
import { own, startTestMesh } from '../sidecar/doors/mesh/asked-by-a-gateway.ts';
import { asking as askingFor, createAsked } from '../support/asked.ts';
import { envoyPath, needs } from '../support/installed.ts';
import { ruleFor } from '../support/snapshots.ts';
import { listening } from './listening.ts';

const documented = readFileSync(fileURLToPath(new URL('../../examples/envoy.yaml', import.meta.url)), 'utf8');
/** The configuration without the line that the page requires. */
const withoutTimeout = documented.replace(/^ +timeout: .*\n/m, '');

interface Upstream {
  readonly port: number;
  readonly reached: IncomingHttpHeaders[];
}

async function startUpstream(): Promise<Upstream> {
  const reached: IncomingHttpHeaders[] = [];
  const port = await listening((request, response) => {
    reached.push(request.headers);
    response.end('from the tool');
  });
  return { port, reached };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Replaces each port of the configuration; it must contain each once. */
async function startEnvoy(config: string, ports: { readonly 9191: number; readonly 8080: number }): Promise<string> {
  const port = await freePort();
  const text = Object.entries({ 10000: port, ...ports }).reduce((sofar, [from, to]) => {
    expect(sofar.split(`port_value: ${from} }`)).toHaveLength(2);
    return sofar.replace(`port_value: ${from} }`, `port_value: ${to} }`);
  }, config);
  const folder = mkdtempSync(join(tmpdir(), 'envoy-'));
  writeFileSync(join(folder, 'envoy.yaml'), text);
  const args = ['--config-path', join(folder, 'envoy.yaml'), '--concurrency', '1', '--log-level', 'warning', '--disable-hot-restart'];
  const child = spawn(envoyPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    log += more;
  });
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  onTestFinished(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(
      async () => {
        if (child.exitCode !== null) throw new Error(`Envoy has ended:\n${log}`);
        return fetch(url).then(
          () => true,
          () => false,
        );
      },
      { timeout: 20_000 },
    )
    .toBe(true);
  return url;
}

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));

const asking = (url: string, method = 'GET', body?: string): Promise<Response> =>
  fetch(`${url}/invoices`, {
    method,
    headers: { authorization: `Bearer ${own}`, 'x-tollgate-agent': 'clerk', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });

const codesOf = async ({ entries }: { readonly entries: () => Promise<readonly { readonly code: string; readonly tool: string }[]> }) =>
  (await entries()).map(({ code, tool }) => [tool, code]);

test('it passes or denies calls as policy says, with the reason and the time to retry', needs('envoy'), async () => {
  const upstream = await startUpstream();
  const { address, sidecar, failures } = await startTestMesh({
    documents: [
      ruleFor('billing.DELETE', { permission: 'deny' }),
      { ...ruleFor('billing.POST', { rateLimit: 1 }), id: { layer: 'role', role: 'member' } },
    ],
  });
  const url = await startEnvoy(documented, { 9191: portOf(address), 8080: upstream.port });

  // The test asked without a key while it waited for Envoy.
  expect((await fetch(url)).status).toBe(401);
  expect(upstream.reached).toEqual([]);
  const passed = await asking(url);
  expect([passed.status, await passed.text()]).toEqual([200, 'from the tool']);
  expect(upstream.reached).toMatchObject([{ 'x-tollgate-request-id': expect.any(String) }]);
  expect(Object.keys(upstream.reached[0] ?? {}).filter((name) => name === 'authorization' || name === 'x-tollgate-agent')).toEqual([]);

  const denied = await asking(url, 'DELETE');
  expect(denied.status).toBe(403);
  expect(await denied.json()).toMatchObject({ decision: { decision: 'deny', reason: expect.stringMatching(/^policy_denied: /) } });

  expect((await asking(url, 'POST', '{"n":1}')).status).toBe(200);
  const throttled = await asking(url, 'POST', '{"n":2}');
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)]);
  expect((await asking(url, 'POST', JSON.stringify({ text: 'x'.repeat(1_100_000) }))).status).toBe(413);
  expect(upstream.reached).toHaveLength(2);
  expect(await codesOf(sidecar)).toEqual([
    ['billing.GET', 'allowed'],
    ['billing.DELETE', 'policy_denied'],
    ['billing.POST', 'allowed'],
    ['billing.POST', 'rate_limited'],
  ]);
  expect(failures).toEqual([]);
});

test(
  'it waits as long as a decision may take; without its timeout setting Envoy stops waiting earlier, and no call passes or is counted',
  needs('envoy'),
  async () => {
    const upstream = await startUpstream();
    const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
    const world = { documents: [ruleFor('billing.GET', { rateLimit: 5 })] };
    const { address, sidecar } = await startTestMesh(world, 1_000, createLeasedCounters(leases, 60));
    leases.opened();
    leases.policyChanged({ epoch: 'e', number: 1 }, sidecar.time.now);
    const ports = { 9191: portOf(address), 8080: upstream.port };
    const [patient, hasty] = [await startEnvoy(documented, ports), await startEnvoy(withoutTimeout, ports)];

    const waiting = asking(patient);
    await expect.poll(() => leases.waits).toBe(1);
    const late = await asking(hasty);
    expect([late.status, await late.text()]).toEqual([503, '']);
    await expect.poll(() => codesOf(sidecar)).toEqual([['billing.GET', 'caller_gone']]);
    expect(upstream.reached).toEqual([]);

    const [ask] = leases.asks(sidecar.time.now);
    if (ask === undefined) throw new Error('nothing was asked');
    const result = { kind: 'grant', id: 1, tokens: 1, ttlMs: 2_000, max: 5, shared: false, ageMs: null } as const;
    leases.answered([{ counter: ask.counter, number: ask.number, result }], sidecar.time.now);
    expect((await waiting).status).toBe(200);
    expect(upstream.reached).toHaveLength(1);
    expect(await codesOf(sidecar)).toEqual([
      ['billing.GET', 'caller_gone'],
      ['billing.GET', 'allowed'],
    ]);
  },
);

test('where the sidecar is away no call passes', needs('envoy'), async () => {
  const upstream = await startUpstream();
  const url = await startEnvoy(documented, { 9191: await freePort(), 8080: upstream.port });
  expect((await asking(url)).status).toBe(503);
  expect(upstream.reached).toEqual([]);
});

test(
  'a request that a person must approve is denied with the approval, and reaches the tool once after the answer',
  needs('envoy'),
  async () => {
    const upstream = await startUpstream();
    const asked = createAsked();
    const { address, failures } = await startTestMesh(askingFor('billing.POST'), 1_000, undefined, new BodyMemory(), asked);
    const url = await startEnvoy(documented, { 9191: portOf(address), 8080: upstream.port });
    const denied = await asking(url, 'POST', '{"n":1}');
    expect([denied.status, denied.headers.get('retry-after')]).toEqual([403, '5']);
    expect(await denied.json()).toMatchObject({ decision: { kind: 'retry', approval_id: 'ap-1' } });
    asked.ledger.approve('ap-1');
    expect((await asking(url, 'POST', '{"n":2}')).status).toBe(403);
    expect(upstream.reached).toEqual([]);
    // The headers that Envoy adds to each request are no part of the call.
    expect((await asking(url, 'POST', '{"n":1}')).status).toBe(200);
    expect((await asking(url, 'POST', '{"n":1}')).status).toBe(403);
    expect(upstream.reached).toHaveLength(1);
    expect(failures).toEqual([]);
  },
);

// REST with TLS of its own: the certificate from files, which are read again while it runs.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { request as requestPlainly } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import { Registry } from 'prom-client';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { runControlPlane } from '../../control-plane/app/main.ts';
import { openRestTls } from '../../control-plane/app/wire-tls.ts';
import type { Undo } from '../../control-plane/base/undo.ts';
import { exportCertificates } from '../../control-plane/certificates/tls/metrics.ts';
import { restWarnings } from '../../control-plane/certificates/tls/rest-material.ts';
import { makeAuthority, makeServer, type Pair } from '../../control-plane/certificates/x509/certificate.ts';
import { createApp } from '../../control-plane/http/app.ts';
import { watchConnections } from '../../control-plane/http/connections.ts';
import { useCertificate } from '../../control-plane/http/tls.ts';
import { createRest, type Rest } from './rest.ts';

const began = Date.now();
const hourMs = 3_600_000;
const lasting = (fromMs: number, untilMs: number) => ({ from: new Date(began + fromMs), until: new Date(began + untilMs) });
const authority = makeAuthority('operator', lasting(-hourMs, 100 * hourMs));
const pairOf = (validity = lasting(-hourMs, 10 * hourMs)): Pair => makeServer(authority, { dnsNames: ['localhost'], validity });

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());
afterEach(() => vi.restoreAllMocks());

function folderWith(pair: Partial<Pair>) {
  const folder = mkdtempSync(join(tmpdir(), 'rest-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = ({ certificate, key }: Partial<Pair>): void => {
    if (certificate !== undefined) writeFileSync(join(folder, 'tls.crt'), certificate);
    if (key !== undefined) writeFileSync(join(folder, 'tls.key'), key);
  };
  write(pair);
  return { folder, write };
}

/** A REST server with the files of a folder, as `wireHttp` makes it. `add`: adds routes. */
async function serve(pair = pairOf(), add: (app: FastifyInstance) => void = () => undefined) {
  const { folder, write } = folderWith(pair);
  const said: { readonly fields: object; readonly message: string }[] = [];
  const note = (fields: object, message: string): void => void said.push({ fields, message });
  const undo: Undo = [];
  const time = { now: began };
  const opened = await openRestTls(
    { config: { restTlsDir: folder }, clock: () => new Date(time.now), log: { info: note, error: note } },
    undo,
  );
  if ('problem' in opened || opened.rest === null) throw new Error('problem' in opened ? opened.problem : 'no certificate');
  const material = opened.rest;
  const app = createApp({ ...rest.deps, registry: new Registry(), tls: material.current });
  add(app);
  const connections = watchConnections(app.server);
  material.onChange((renewed) => useCertificate(app.server, renewed));
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async (): Promise<void> => {
    await app.close();
    await undo[0]?.();
  };
  onTestFinished(close);
  return { app, connections, origin, port: Number(new URL(origin).port), material, write, said, time, folder };
}

interface Answered {
  readonly status: number | undefined;
  readonly serial: string;
  readonly socket: TLSSocket;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

function ask(
  port: number,
  { agent = new Agent({ keepAlive: false }), path = '/healthz', method = 'GET', key = '' } = {},
): Promise<Answered> {
  return new Promise((done, fail) => {
    const headers = key === '' ? {} : { authorization: `Bearer ${key}` };
    const sent = request(
      { host: '127.0.0.1', port, servername: 'localhost', ca: authority.certificate, agent, path, method, headers },
      (response) => {
        const socket = response.socket as TLSSocket;
        const serial = socket.getPeerCertificate().serialNumber;
        response.resume().once('end', () => done({ status: response.statusCode, serial, socket, headers: response.headers }));
      },
    );
    sent.on('error', fail).end();
  });
}

test('REST answers over TLS, with cookies for https alone, and not in plain text', async () => {
  const { origin, port } = await serve();
  expect(origin).toMatch(/^https:/);
  expect((await ask(port)).status).toBe(200);
  const opened = await ask(port, { path: '/acme/admin/session', method: 'POST', key: rest.owner });
  expect(String(opened.headers['set-cookie'])).toMatch(
    /^__Host-tollgate_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
  );
  const plain = requestPlainly({ host: '127.0.0.1', port, path: '/healthz' });
  const [error] = await once(plain.end(), 'error').catch((reason: unknown) => [reason]);
  expect(error).toMatchObject({ code: expect.stringMatching(/^(?:ECONNRESET|EPIPE|HPE_INVALID_CONSTANT)$/) });
});

test('a renewed certificate is used for new connections; an open connection, and an answer under way on it, continue', async () => {
  const { port, material, write, said } = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const first = await ask(port, { agent });
  const stream = request({
    host: '127.0.0.1',
    port,
    servername: 'localhost',
    ca: authority.certificate,
    path: '/acme/admin/session/stream',
    headers: { authorization: `Bearer ${rest.owner}` },
  });
  const [answer] = await once(stream.end(), 'response');
  const pieces: string[] = [];
  answer.on('data', (piece: Buffer) => pieces.push(String(piece)));
  write(pairOf());
  await material.check();
  const kept = await ask(port, { agent });
  const fresh = await ask(port);
  expect(kept.socket).toBe(first.socket);
  expect(kept.serial).toBe(first.serial);
  expect(fresh.serial).not.toBe(first.serial);
  const before = pieces.length;
  const frozen = await rest.ask('POST', '/acme/admin/freeze');
  expect(frozen.status).toBe(200);
  rest.revisions.raised(1, 0, 0);
  await expect.poll(() => pieces.length).toBeGreaterThan(before);
  expect(answer.complete).toBe(false);
  stream.destroy();
  expect(said.map(({ message }) => message)).toEqual(['the certificate of REST was renewed', 'the certificate of REST was renewed']);
});

test.each([
  [
    'a key of another certificate',
    () => ({ key: pairOf().key }),
    /tls\.crt must be a certificate, and tls\.key must be the private key of this certificate/,
  ],
  ['no certificate', () => ({ certificate: 'x' }), /tls\.crt must be a certificate/],
  ['an expired certificate', () => pairOf(lasting(-2 * hourMs, -hourMs)), /tls\.crt has expired: it was valid until \d{4}-/],
  ['a certificate of the future', () => pairOf(lasting(hourMs, 2 * hourMs)), /tls\.crt is not valid yet: it is valid from \d{4}-/],
])('%s at a check: the one from before stays, and log, metric and /readyz report it', async (_, bad, why) => {
  const pair = pairOf();
  const { port, material, write, said, folder } = await serve(pair);
  const registry = new Registry();
  exportCertificates(registry, { server: null, rest: material });
  const { serial } = await ask(port);
  expect(restWarnings(material)).toEqual([]);
  write(bad());
  await material.check();
  expect((await ask(port)).serial).toBe(serial);
  const line = said.at(-1);
  expect(line?.message).toBe('the certificate of REST could not be checked or renewed');
  expect(line?.fields).toMatchObject({ reason: expect.stringMatching(why) });
  expect(JSON.stringify(line?.fields)).toContain(folder);
  expect(restWarnings(material)).toEqual([
    expect.stringMatching(/^the certificate of REST is not renewed: .*; the one from before is used, which is valid until \d{4}-/),
  ]);
  expect(await registry.metrics()).toContain('tollgate_certificate_renewal_failed{certificate="rest"} 1');
  write(pair);
  await material.check();
  expect(restWarnings(material)).toEqual([]);
  expect(await registry.metrics()).toContain('tollgate_certificate_renewal_failed{certificate="rest"} 0');
});

test('a certificate that expires while it is used is reported, and the port still answers', async () => {
  const { port, material, time } = await serve();
  time.now = began + 10 * hourMs;
  expect(restWarnings(material)).toEqual([expect.stringMatching(/^clients refuse the certificate of REST: it expired at \d{4}-/)]);
  expect((await ask(port)).status).toBe(200);
});

test('at a stop, idle connections are closed, and a connection with a request after its answer', async () => {
  let begin = (): void => {};
  const begun = new Promise<void>((done) => (begin = done));
  let answer: (body: object) => void = () => undefined;
  const answered = new Promise<object>((done) => (answer = done));
  const { app, connections, port } = await serve(pairOf(), (server) =>
    server.get('/slow', () => {
      begin();
      return answered;
    }),
  );
  const idle = new Agent({ keepAlive: true });
  onTestFinished(() => idle.destroy());
  const { socket } = await ask(port, { agent: idle });
  const unused = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: authority.certificate });
  await once(unused, 'secureConnect');
  const slow = ask(port, { path: '/slow' });
  await begun;
  const ended = Promise.all([once(socket, 'close'), once(unused.resume(), 'close')]);
  const closed = app.close();
  connections.closeIdle();
  await ended;
  answer({});
  expect((await slow).status).toBe(200);
  await closed;
});

/** What the program writes when it does not start. */
async function startWith(env: Readonly<Record<string, string>>): Promise<string> {
  let said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  const dataDir = mkdtempSync(join(tmpdir(), 'rest-tls-data-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  const code = await runControlPlane({ TOLLGATE_DATA_DIR: dataDir, TOLLGATE_LOG_LEVEL: 'silent', ...env });
  return `${code} ${said}`;
}

test.each([
  ['missing', {}, /^2 tollgate cannot start:\n {2}TOLLGATE_REST_TLS_DIR \/\S+: ENOENT.*tls\.(?:crt|key)/],
  [
    'of another key',
    { ...pairOf(), key: pairOf().key },
    /^2 tollgate cannot start:\n {2}TOLLGATE_REST_TLS_DIR \/\S+: in \/\S+, tls\.crt must be a certificate, and tls\.key must be/,
  ],
  [
    'expired',
    pairOf(lasting(-2 * hourMs, -hourMs)),
    /^2 tollgate cannot start:\n {2}TOLLGATE_REST_TLS_DIR \/\S+: the certificate in \/\S+\/tls\.crt has expired/,
  ],
])('files that are %s end the start', async (_, files, said) => {
  expect(await startWith({ TOLLGATE_REST_TLS_DIR: folderWith(files).folder })).toMatch(said);
});

test('beyond loopback, what would be plain text is named, with the variable that gives it TLS', async () => {
  const host = { TOLLGATE_HOST: '0.0.0.0' };
  expect(await startWith(host)).toContain(
    'TOLLGATE_HOST is 0.0.0.0, which is not loopback, and REST and gRPC would be plain text; set TOLLGATE_REST_TLS_DIR for REST, and TOLLGATE_ENROL_PORT or TOLLGATE_TLS_DIR for gRPC; or put TLS in front, and set TOLLGATE_ALLOW_PLAINTEXT=true',
  );
  expect(await startWith({ ...host, TOLLGATE_TLS_DIR: '/nowhere' })).toContain(
    'and REST would be plain text; set TOLLGATE_REST_TLS_DIR for REST; or',
  );
  expect(await startWith({ ...host, TOLLGATE_REST_TLS_DIR: '/nowhere' })).toContain('and gRPC would be plain text;');
  // With both it is accepted, and the next problem is the certificate.
  expect(await startWith({ ...host, TOLLGATE_REST_TLS_DIR: '/nowhere', TOLLGATE_TLS_DIR: '/nowhere' })).toMatch(
    /TOLLGATE_REST_TLS_DIR \/nowhere: ENOENT/,
  );
  expect(await startWith({ TOLLGATE_REST_TLS_DIR: '/nowhere', TOLLGATE_PUBLIC_URL: 'http://127.0.0.1:8080' })).toContain(
    'TOLLGATE_PUBLIC_URL must begin with https://, because REST has TLS',
  );
});

// Enrolment against a real server over TLS. Only the clock belongs to the test.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { LinkCredentials } from '../../../../../sidecar/engine/link/tls/credentials.ts';
import { openCredentials } from '../../../../../sidecar/engine/link/tls/open-credentials.ts';
import { issue, makeAuthority, type Pair } from '../../../../support/authorities.ts';
import { startEnrolment } from '../../../../support/enrolment-server.ts';
import { createManualClock } from '../../../../support/manual-clock.ts';
import { temporaryFolder } from '../../../../support/spools.ts';

const hourMs = 3_600_000;
const key = 'gsk_acme_0123456789';

interface CredentialOptions {
  readonly ca: string;
  readonly enrol: string;
  readonly tokenFile?: string;
  readonly folder?: string;
  readonly random?: number;
}

async function open({ ca, enrol, tokenFile, folder = temporaryFolder(), random = 0.5 }: CredentialOptions) {
  const clock = createManualClock(Date.now());
  const warnings: { readonly words: string; readonly fields: object }[] = [];
  const log = { info: () => undefined, warn: (fields: object, words: string) => void warnings.push({ fields, words }) };
  const tls = { kind: 'enrolled', ca, enrol, tokenFile: tokenFile ?? null } as const;
  const credentials = await openCredentials({ clock, random: () => random, log }, tls, { key, folder });
  onTestFinished(() => credentials.close());
  /** Resolves once the credentials fulfil the condition. */
  const until = (holds: (credentials: LinkCredentials) => boolean): Promise<void> =>
    new Promise((done) => {
      const look = (): void => {
        if (holds(credentials)) done();
      };
      credentials.onChange(look);
      look();
    });
  /** Returns the current certificate, once it differs from the given one. */
  const shown = async (before: string | null = null): Promise<string> => {
    await until(({ current }) => current?.own != null && current.own.certificate !== before);
    return credentials.current?.own?.certificate ?? '';
  };
  return { credentials, clock, warnings, until, shown, folder };
}

/** Returns the timer for the next request. It is set a moment after an answer was received. */
async function wait(clock: { readonly waits: readonly number[] }): Promise<number> {
  for (;;) {
    const [ms] = clock.waits;
    if (ms !== undefined) return ms;
    await new Promise((done) => setImmediate(done));
  }
}

test('a sidecar uses the token of its service account to request a certificate for a key that only it has', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const tokenFile = join(temporaryFolder(), 'token');
  writeFileSync(tokenFile, 'a.b.c\n');
  const { credentials, shown } = await open({ ca: authority.certificate, enrol: enrolment.address, tokenFile });
  const certificate = new X509Certificate(await shown());
  expect(enrolment.asked).toEqual([
    {
      url: 'POST /v1/certificate',
      authorization: 'Bearer a.b.c',
      publicKey: certificate.publicKey.export({ type: 'spki', format: 'pem' }),
    },
  ]);
  expect(credentials.expiresAt).toBe(Date.parse(certificate.validTo));
  expect(credentials.problem).toBeNull();
});

test('without a token it uses its key', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const { shown } = await open({ ca: authority.certificate, enrol: enrolment.address });
  await shown();
  expect(enrolment.asked.map(({ authorization }) => authorization)).toEqual([`Bearer ${key}`]);
});

test.each([0, 0.5, 0.999])('it renews within the last third, and not in its second half, by chance %d', async (random) => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const { shown, clock } = await open({ ca: authority.certificate, enrol: enrolment.address, random });
  await shown();
  const ms = await wait(clock);
  expect(ms).toBeGreaterThan((hourMs * 2) / 3 - 5_000);
  expect(ms).toBeLessThan((hourMs * 5) / 6);
});

test('each request uses the current token, and a new key', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const tokenFile = join(temporaryFolder(), 'token');
  writeFileSync(tokenFile, 'first');
  const { shown, clock } = await open({ ca: authority.certificate, enrol: enrolment.address, tokenFile });
  const before = await shown();
  writeFileSync(tokenFile, 'second');
  clock.advance(await wait(clock));
  await shown(before);
  expect(enrolment.asked.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second']);
  expect(new Set(enrolment.asked.map(({ publicKey }) => publicKey)).size).toBe(2);
});

test('a server without a certificate of the authority does not receive the token', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority, servedBy: makeAuthority('one') });
  const { credentials, until, warnings } = await open({ ca: authority.certificate, enrol: enrolment.address });
  await until(({ problem }) => problem !== null);
  expect(credentials.problem).toMatch(/^localhost:\d+ gives no certificate: (?:unable to verify|self-signed|certificate signature)/);
  expect(credentials.current).toBeNull();
  expect(enrolment.asked).toEqual([]);
  expect(warnings.map(({ words }) => words)).toEqual([expect.stringContaining('decides by the policy it holds')]);
});

test('a server that is missing at the start is found later, without a restart', async () => {
  const authority = makeAuthority('one');
  const gone = await startEnrolment({ authority });
  await gone.stop();
  const { credentials, until, shown, clock } = await open({ ca: authority.certificate, enrol: gone.address });
  await until(({ problem }) => problem !== null);
  expect(credentials.problem).toContain('ECONNREFUSED');
  await startEnrolment({ authority, port: gone.port });
  clock.advance(await wait(clock));
  await shown();
  expect(credentials.problem).toBeNull();
});

test('a refused sidecar retries slowly, and reports the answer', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  enrolment.reply = () => ({ status: 403, body: { error: { code: 'forbidden', message: 'the token is\nof another audience' } } });
  const { credentials, until, clock } = await open({ ca: authority.certificate, enrol: enrolment.address, random: 0 });
  await until(({ problem }) => problem !== null);
  expect(credentials.problem).toBe(`${enrolment.address} gives no certificate: it answered 403, the token is of another audience`);
  expect(await wait(clock)).toBeGreaterThanOrEqual(15_000);
});

test.each([
  [401, undefined, true],
  [403, undefined, true],
  [401, 'a.b.c', false],
  [429, undefined, false],
  [503, undefined, false],
])('an answer %d to the token %j means that the key is invalid: %j', async (status, token, refused) => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  enrolment.reply = () => ({ status, body: { error: 'no' } });
  const tokenFile = join(temporaryFolder(), 'token');
  if (token !== undefined) writeFileSync(tokenFile, token);
  const { credentials, until } = await open({
    ca: authority.certificate,
    enrol: enrolment.address,
    ...(token === undefined ? {} : { tokenFile }),
  });
  await until(({ problem }) => problem !== null);
  expect(credentials.keyRefused).toBe(refused);
});

test('while it cannot renew it continues with what it has, and reports it, and once more after expiry', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const { credentials, until, shown, clock, warnings } = await open({ ca: authority.certificate, enrol: enrolment.address });
  const held = await shown();
  enrolment.reply = () => ({ status: 503, body: {} });
  clock.advance(await wait(clock));
  await until(({ problem }) => problem !== null);
  expect(credentials.current?.own?.certificate).toBe(held);
  await wait(clock);
  clock.advance(hourMs);
  await until(({ problem }) => problem?.startsWith('the certificate expired at') ?? false);
  expect(credentials.current?.own?.certificate).toBe(held);
  expect(warnings.map(({ words }) => words)).toEqual([
    expect.stringContaining('continues with the one it has'),
    expect.stringContaining('the certificate has expired'),
  ]);
});

test.each([
  ['a certificate of another key', (ca: string) => ({ certificate: issue(makeAuthority('one')).certificate, authorities: ca })],
  ['no authority', () => ({ certificate: issue(makeAuthority('one')).certificate, authorities: '' })],
  ['no certificate', (ca: string) => ({ certificate: 'none', authorities: ca })],
  ['something else', () => []],
])('%s is not accepted as an answer', async (_, body) => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  enrolment.reply = () => ({ status: 200, body: body(authority.certificate) });
  const { credentials, until } = await open({ ca: authority.certificate, enrol: enrolment.address });
  await until(({ problem }) => problem !== null);
  expect(credentials.problem).toBe(`${enrolment.address} answered with no certificate for this sidecar's key`);
  expect(credentials.current).toBeNull();
});

test.each([
  ['takes the connection and speaks no TLS', 5_000, 'no connection within 5 s', () => createServer(), 'connection'],
  [
    'takes the question and says nothing',
    10_000,
    'no answer within 10 s',
    ({ certificate: cert, key: own }: Pair) => createTlsServer({ cert, key: own }),
    'request',
  ],
] as const)('a server that %s is given up after %i ms', async (_, patienceMs, problem, serve, heard) => {
  const authority = makeAuthority('one');
  const silent = serve(issue(authority, { names: ['localhost'] }));
  const sockets = new Set<Socket>();
  silent.on('connection', (socket: Socket) => void sockets.add(socket));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const reached = once(silent, heard);
  const { until, credentials, clock } = await open({ ca: authority.certificate, enrol: `localhost:${Object(silent.address()).port}` });
  await reached;
  clock.advance(patienceMs - 1);
  expect(credentials.problem).toBeNull();
  clock.advance(1);
  await until(({ problem: said }) => said !== null);
  expect(credentials.problem).toContain(problem);
});

test('a missing token is reported, and nothing is requested', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const { credentials, until } = await open({ ca: authority.certificate, enrol: enrolment.address, tokenFile: '/nowhere/token' });
  await until(({ problem }) => problem !== null);
  expect(credentials.problem).toBe('the token in /nowhere/token cannot be read (ENOENT)');
  expect(enrolment.asked).toEqual([]);
});

test('a changed authority of the control plane is still trusted, also by the next process, but not by one with another configured authority', async () => {
  const [old, next] = [makeAuthority('old'), makeAuthority('next')];
  const first = await startEnrolment({ authority: old });
  first.bundle = `${old.certificate}${next.certificate}`;
  const { credentials, shown, folder } = await open({ ca: old.certificate, enrol: first.address });
  await shown();
  expect(credentials.current?.authorities).toContain(next.certificate.trim());
  await credentials.close();
  await first.stop();

  const later = await startEnrolment({ authority: next, port: first.port });
  const again = await open({ ca: old.certificate, enrol: later.address, folder });
  await again.shown();
  const other = await open({ ca: makeAuthority('old').certificate, enrol: later.address, folder });
  await other.until(({ problem }) => problem !== null);
  expect(later.asked).toHaveLength(1);
});

test('only the received authorities are on disk, and no other user can read or change them', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const { credentials, shown, folder } = await open({ ca: authority.certificate, enrol: enrolment.address });
  await shown();
  await credentials.close();
  const files = readdirSync(folder);
  expect(files).toEqual([expect.stringMatching(/^authorities-[0-9a-f]{16}\.pem$/)]);
  const path = join(folder, files[0] ?? '');
  expect(readFileSync(path, 'utf8')).toBe(authority.certificate.trim());
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('authorities that could not be stored are stored with the next certificate', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const folder = join(temporaryFolder(), 'later');
  const { credentials, shown, clock, warnings } = await open({ ca: authority.certificate, enrol: enrolment.address, folder });
  const before = await shown();
  await wait(clock);
  while (warnings.length === 0) await new Promise((done) => setImmediate(done));
  expect(warnings.map(({ words }) => words)).toEqual(['the authorities of the control plane could not be stored on disk']);
  mkdirSync(folder);
  clock.advance(await wait(clock));
  await shown(before);
  await credentials.close();
  expect(readdirSync(folder)).toHaveLength(1);
});

test('a damaged file on disk is not used', async () => {
  const authority = makeAuthority('one');
  const enrolment = await startEnrolment({ authority });
  const first = await open({ ca: authority.certificate, enrol: enrolment.address });
  await first.shown();
  await first.credentials.close();
  const [file = ''] = readdirSync(first.folder);
  writeFileSync(join(first.folder, file), 'half a certif');
  const { shown, warnings } = await open({ ca: authority.certificate, enrol: enrolment.address, folder: first.folder });
  await shown();
  expect(warnings.map(({ words }) => words)).toEqual(['the authorities on disk are not used, because their file cannot be read']);
});

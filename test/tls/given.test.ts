// Certificates that come from outside: the files are read again, and never replaced by a pair that does not match. Also
// the messages of a control plane about variables that do not fit together.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { type Config, configSchema, serverNamesIn, tlsProblems } from '../../control-plane/app/config.ts';
import { givenIn } from '../../control-plane/certificates/tls/given-material.ts';
import { type MaintainedMaterial, maintainMaterial } from '../../control-plane/certificates/tls/material.ts';
import { makeAuthority, makeServer, type Pair } from '../../control-plane/certificates/x509/certificate.ts';

const began = Date.now();
const hourMs = 3_600_000;
const validity = { from: new Date(began - hourMs), until: new Date(began + hourMs) };
const authority = makeAuthority('cert-manager', validity);
const pair = (): Pair => makeServer(authority, { dnsNames: ['tollgate'], validity });

async function given() {
  const folder = mkdtempSync(join(tmpdir(), 'given-'));
  const write = (files: Readonly<Record<string, string>>): void => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  };
  const clock = { now: began };
  const said: string[] = [];
  const note = (fields: object, message: string): void => void said.push(`${message} ${JSON.stringify(fields)}`);
  const start = async (): Promise<MaintainedMaterial> => {
    const maintained = await maintainMaterial(
      { find: givenIn(folder), now: () => new Date(clock.now), log: { info: note, error: note } },
      2 ** 30,
    );
    onTestFinished(() => maintained.close());
    return maintained;
  };
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return { write, clock, said, start };
}

test('new files are used at the next check, and listeners are notified once', async () => {
  const { write, start, said } = await given();
  const [first, second] = [pair(), pair()];
  write({ 'tls.crt': first.certificate, 'tls.key': first.key, 'ca.crt': authority.certificate });
  const maintained = await start();
  const heard: string[] = [];
  const forget = maintained.onChange(({ certificate }) => void heard.push(certificate));
  await maintained.check();
  expect(heard).toEqual([]);
  write({ 'tls.crt': second.certificate, 'tls.key': second.key });
  await maintained.check();
  expect([heard, maintained.current?.certificate, maintained.problem]).toEqual([[second.certificate], second.certificate, null]);
  write({ 'ca.crt': authority.certificate + makeAuthority('next', validity).certificate });
  await maintained.check();
  expect([heard.length, maintained.current?.authorities.length]).toEqual([2, 2]);
  forget();
  expect(said).toHaveLength(3);
});

test('invalid files keep the last good ones in use, and each check reports it; after those expire it is a problem', async () => {
  const { write, start, said, clock } = await given();
  const [first, second] = [pair(), pair()];
  write({ 'tls.crt': first.certificate, 'tls.key': first.key, 'ca.crt': authority.certificate });
  const maintained = await start();
  for (const broken of [
    { 'tls.crt': second.certificate },
    { 'tls.crt': 'none' },
    { 'tls.crt': first.certificate, 'ca.crt': '' },
    { 'ca.crt': authority.certificate.replace('MII', 'NII') },
  ]) {
    write(broken);
    await maintained.check();
    expect([maintained.current?.certificate, maintained.problem]).toEqual([first.certificate, null]);
  }
  expect(said.filter((line) => line.startsWith('the server certificate for sidecars could not be checked or renewed'))).toHaveLength(4);
  expect(said.join()).not.toMatch(/PRIVATE|MI[GH]/);
  clock.now = began + hourMs;
  expect(maintained.problem).toMatch(/^it expired at .*: ca\.crt in .* contains text that is not a certificate$/);
});

test('without files nothing is shown, and the reason is reported; files that appear later are used', async () => {
  const { write, start } = await given();
  const maintained = await start();
  expect([maintained.current, maintained.problem]).toEqual([null, expect.stringMatching(/ENOENT.*tls\.(?:crt|key)|ENOENT.*ca\.crt/)]);
  const { certificate, key } = pair();
  write({ 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.certificate });
  await maintained.check();
  expect(maintained.problem).toBeNull();
});

const problemsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
  const read = readConfig(configSchema, env);
  return 'problems' in read ? read.problems : tlsProblems(read.config);
};

test('variables that do not fit together are named, with the correct combination', () => {
  const secret = { TOLLGATE_SECRET_KEY: 's'.repeat(32) };
  expect(problemsOf({})).toEqual([]);
  expect(problemsOf({ TOLLGATE_ENROL_PORT: '8082', TOLLGATE_TLS_NAMES: 'tollgate.svc, 10.0.0.1,::1', ...secret })).toEqual([]);
  expect(problemsOf({ TOLLGATE_ENROL_PORT: '8082' })).toEqual([
    'TOLLGATE_ENROL_PORT needs TOLLGATE_SECRET_KEY, which encrypts the key of its authority',
  ]);
  expect(problemsOf({ TOLLGATE_ENROL_PORT: '8082', TOLLGATE_TLS_DIR: '/tls', ...secret })).toEqual([
    'TOLLGATE_TLS_DIR is for certificates from another program, and TOLLGATE_ENROL_PORT for its own certificates; set only one of them',
  ]);
  expect(problemsOf({ TOLLGATE_TLS_NAMES: 'tollgate', TOLLGATE_TLS_DIR: '/tls' })).toEqual([
    'TOLLGATE_TLS_NAMES needs TOLLGATE_ENROL_PORT',
  ]);
  expect(problemsOf({ TOLLGATE_ENROL_PORT: '70000' })).toEqual(['TOLLGATE_ENROL_PORT must be a port, from 0 to 65535']);
});

test.each([
  'a,,b',
  '*.tollgate',
  'toll gate',
  '10.0.0',
  '10.0.0.256',
  '-a',
  'a..b',
  'https://tollgate',
  'tollgate:8081',
  'fe80::1%eth0',
  'x'.repeat(64),
])('%s is not a list of server names', (names) => {
  expect(problemsOf({ TOLLGATE_TLS_NAMES: names })).toEqual([
    expect.stringMatching(/^TOLLGATE_TLS_NAMES must be DNS names and IP addresses/),
  ]);
});

test('names are read without the blanks around them', () => {
  const names: Config['tlsNames'] = 'a, b ,::1';
  expect(serverNamesIn(names)).toEqual(['a', 'b', '::1']);
});

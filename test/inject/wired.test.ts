// The webhook as a control plane starts it, from variables and a settings file, and its messages where these are not
// sufficient.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { readConfig } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { type Config, configSchema, injectProblems } from '../../control-plane/app/config.ts';
import { accountOfPod } from '../../control-plane/injector/kubernetes-api.ts';
import { type Undo, undoAll } from '../../control-plane/base/undo.ts';
import { settingsIn, wireInjector } from '../../control-plane/app/wire-injector.ts';
import { makeAuthority, makeServer } from '../../control-plane/certificates/x509/certificate.ts';
import { ask, reviewOf, serviceName } from './reviewing.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('test', validity);

function configOf(env: Readonly<Record<string, string>>): Config {
  const read = readConfig(configSchema, env);
  if ('problems' in read) throw new Error(read.problems.join());
  return read.config;
}

function folderWith(settings: string): { readonly settings: string; readonly certificates: string } {
  const folder = mkdtempSync(join(tmpdir(), 'wired-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pair = makeServer(authority, { dnsNames: [serviceName], validity });
  mkdirSync(join(folder, 'certificates'));
  writeFileSync(join(folder, 'certificates', 'tls.crt'), pair.certificate);
  writeFileSync(join(folder, 'certificates', 'tls.key'), pair.key);
  writeFileSync(join(folder, 'settings.yaml'), settings);
  return { settings: join(folder, 'settings.yaml'), certificates: join(folder, 'certificates') };
}

async function wired(env: Readonly<Record<string, string>>, authorities?: () => Promise<string>) {
  const undo: Undo = [];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  onTestFinished(() => undoAll(undo, { error: () => undefined }));
  return wireInjector({ config: configOf(env), env: {}, authorities: authorities ?? null, registry: new Registry(), log }, undo);
}

const good = 'image: sidecar:1\ncontrolPlane: tollgate:8081\n';

test('with a port, settings and a certificate it answers; without a port it does not start', async () => {
  const { settings, certificates } = folderWith(good);
  const more = { TOLLGATE_INJECT_SETTINGS: settings, TOLLGATE_INJECT_CERT_DIR: certificates };
  const done = await wired({ TOLLGATE_INJECT_PORT: '0', ...more });
  if ('problem' in done) throw new Error(done.problem);
  const port = done.injector?.port ?? 0;
  const { body } = await ask(reviewOf({ spec: { containers: [{ name: 'app' }] } }), { port, ca: authority.certificate });
  expect(body['response']).toMatchObject({ allowed: true, patchType: 'JSONPatch' });
  expect(await wired({})).toEqual({ injector: null });
});

test('what is missing or wrong is named, with the variable that would correct it', async () => {
  const { settings, certificates } = folderWith('controlPlane: tollgate:8081\nmoed: native\n');
  expect(injectProblems(configOf({ TOLLGATE_INJECT_PORT: '8443' }))).toEqual(['TOLLGATE_INJECT_PORT needs TOLLGATE_INJECT_SETTINGS']);
  expect(injectProblems(configOf({ TOLLGATE_INJECT_SETTINGS: 'a', TOLLGATE_INJECT_CERT_DIR: 'b' }))).toEqual([
    'TOLLGATE_INJECT_SETTINGS needs TOLLGATE_INJECT_PORT',
    'TOLLGATE_INJECT_CERT_DIR needs TOLLGATE_INJECT_PORT',
  ]);
  const wrong = await wired({ TOLLGATE_INJECT_PORT: '0', TOLLGATE_INJECT_SETTINGS: settings, TOLLGATE_INJECT_CERT_DIR: certificates });
  expect(wrong).toEqual({
    problem: expect.stringMatching(
      /^TOLLGATE_INJECT_SETTINGS .*settings\.yaml: image is required: set it to the sidecar's image as you published it, such as .*; .*: moed is not a field/,
    ),
  });
  const none = await wired({ TOLLGATE_INJECT_PORT: '0', TOLLGATE_INJECT_SETTINGS: '/nowhere' });
  expect(none).toEqual({ problem: expect.stringMatching(/^TOLLGATE_INJECT_SETTINGS \/nowhere cannot be read: ENOENT/) });
  const outside = await wired({ TOLLGATE_INJECT_PORT: '0', TOLLGATE_INJECT_SETTINGS: folderWith(good).settings });
  expect(outside).toEqual({
    problem: expect.stringMatching(
      /needs TOLLGATE_INJECT_CERT_DIR here, because it cannot create certificates: this process is not in a Kubernetes pod/,
    ),
  });
});

test('addresses of the settings may name the namespace of the control plane, and nothing else of them is replaced', async () => {
  const text =
    "image: sidecar:1\ncontrolPlane: tollgate.$(NAMESPACE).svc:8081\nenrol: tollgate.$(NAMESPACE).svc:8082\nenvironment: { WHERE: '$(NAMESPACE)' }\n";
  const { settings } = folderWith(text);
  expect(await settingsIn(settings, 'agents')).toMatchObject({
    settings: { controlPlane: 'tollgate.agents.svc:8081', enrol: 'tollgate.agents.svc:8082', environment: { WHERE: '$(NAMESPACE)' } },
  });
  expect(await settingsIn(settings, null)).toEqual({
    problem: expect.stringMatching(/: controlPlane must be host:port; .*: enrol must be host:port/),
  });
});

test('sidecars that enrol receive the authorities of that moment', async () => {
  const { settings, certificates } = folderWith(`${good}enrol: tollgate:8082\n`);
  const env = { TOLLGATE_INJECT_PORT: '0', TOLLGATE_INJECT_SETTINGS: settings, TOLLGATE_INJECT_CERT_DIR: certificates };
  let live = 'first';
  const done = await wired(env, async () => live);
  if ('problem' in done) throw new Error(done.problem);
  const port = done.injector?.port ?? 0;
  const told = async (): Promise<unknown> => {
    const { body } = await ask(reviewOf({ spec: { containers: [{ name: 'app' }] } }), { port, ca: authority.certificate });
    const { patch } = body['response'] as { readonly patch: string };
    return /"TOLLGATE_CA","value":"(\w+)"/.exec(Buffer.from(patch, 'base64').toString('utf8'))?.[1];
  };
  expect(await told()).toBe('first');
  live = 'second';
  expect(await told()).toBe('second');
  expect(await wired(env)).toEqual({ problem: expect.stringMatching(/enrol needs TOLLGATE_ENROL_PORT here, or ca/) });
});

test('a port that another program uses ends the start', async () => {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = String(typeof address === 'object' && address !== null ? address.port : '');
  const { settings, certificates } = folderWith(good);
  const taken = wired({ TOLLGATE_INJECT_PORT: port, TOLLGATE_INJECT_SETTINGS: settings, TOLLGATE_INJECT_CERT_DIR: certificates });
  await expect(taken).rejects.toThrow(/EADDRINUSE/);
});

test('the account of a pod is found where the kubelet puts it, also on an IPv6 cluster', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'account-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' };
  expect(await accountOfPod(env, folder)).toHaveProperty('problem');
  for (const [file, text] of Object.entries({ token: 't', 'ca.crt': 'c', namespace: 'tollgate\n' }))
    writeFileSync(join(folder, file), text);
  expect(await accountOfPod({}, folder)).toHaveProperty('problem');
  expect(await accountOfPod(env, folder)).toMatchObject({ url: 'https://[fd00::1]:6443', namespace: 'tollgate' });
});

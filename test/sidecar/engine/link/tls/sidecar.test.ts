// A whole sidecar whose control plane requires certificates: policy and enrolment.
import { readdirSync } from 'node:fs';
import { ServerCredentials } from '@grpc/grpc-js';
import { AppError } from '@tollgate/proto/contract';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { exportCertificate } from '../../../../../sidecar/app/metrics/sidecar.ts';
import { startSidecar } from '../../../../../sidecar/app/start.ts';
import type { Sidecar } from '../../../../../sidecar/doors/sidecar.ts';
import { issue, makeAuthority } from '../../../../support/authorities.ts';
import { type EnrolmentServer, startEnrolment } from '../../../../support/enrolment-server.ts';
import { type PolicyServer, startPolicyServer } from '../../../../support/policy-server.ts';
import { silentLog } from '../../../../support/silent-log.ts';
import { key, keyText, snapshotMessage } from '../../../../support/snapshots.ts';
import { temporaryFolder } from '../../../../support/spools.ts';

const authority = makeAuthority('one');

function serve(): Promise<PolicyServer> {
  const { certificate, key } = issue(authority, { names: ['127.0.0.1'] });
  const pair = { cert_chain: Buffer.from(certificate), private_key: Buffer.from(key) };
  return startPolicyServer({ credentials: ServerCredentials.createSsl(Buffer.from(authority.certificate), [pair], true) });
}

async function start(server: PolicyServer, enrolment: Pick<EnrolmentServer, 'address'>, spoolDir: string): Promise<Sidecar> {
  const sidecar = await startSidecar({
    form: 'process',
    controlPlane: server.address,
    key: keyText('sidecar'),
    plaintext: false,
    tls: { kind: 'enrolled', ca: authority.certificate, enrol: enrolment.address, tokenFile: null },
    spoolDir,
    durability: 'kernel',
    spoolBytesMax: 64 * 1024 * 1024,
    keepInput: true,
    sidecarId: 'sidecar-1',
    log: silentLog,
  });
  onTestFinished(() => sidecar.close(0));
  return sidecar;
}

/** A sidecar that received policy and stopped. Its files are in the folder. */
async function ranBefore(server: PolicyServer, spoolDir: string): Promise<EnrolmentServer> {
  const enrolment = await startEnrolment({ authority });
  const sidecar = await start(server, enrolment, spoolDir);
  const stream = await server.accept();
  const policy = snapshotMessage({ keys: [key({ id: 'sidecar' })] });
  stream.send({ snapshot: { ...policy, entries: [...policy.entries] } });
  await sidecar.ready(20_000);
  await sidecar.close(0);
  return enrolment;
}

test('while no certificate is issued it decides by the policy on disk, and connects once one is issued', async () => {
  const [server, spoolDir] = [await serve(), temporaryFolder()];
  const before = await ranBefore(server, spoolDir);
  await before.stop();
  const sidecar = await start(server, before, spoolDir);
  await sidecar.ready(20_000);
  expect(sidecar.cell.current).not.toBeNull();
  expect(sidecar.notReady()).toEqual([]);
  await startEnrolment({ authority, port: before.port });
  expect((await server.accept()).shown).not.toBeNull();
});

test('/metrics shows when its certificate expires, once it has one', async () => {
  const [server, enrolment] = [await serve(), await startEnrolment({ authority })];
  enrolment.until = new Date('2050-01-01T00:00:00Z');
  const sidecar = await start(server, enrolment, temporaryFolder());
  await server.accept();
  const registry = new Registry();
  exportCertificate(registry, sidecar);
  expect(await registry.metrics()).toContain('tollgate_certificate_expires_seconds{certificate="client"} 2524608000');
  const plain = new Registry();
  exportCertificate(plain, { linkCredentials: null });
  expect(await plain.metrics()).not.toContain('certificate');
});

test('without policy as well, it reports why it is not ready', async () => {
  const [server, enrolment] = [await serve(), await startEnrolment({ authority })];
  await enrolment.stop();
  const sidecar = await start(server, enrolment, temporaryFolder());
  const refused = await sidecar.ready(1_000).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(AppError);
  expect(String(refused)).toContain('gives no certificate: ');
  expect(sidecar.notReady()).toEqual([expect.stringMatching(/^no policy is held: localhost:\d+ gives no certificate: .*ECONNREFUSED/)]);
});

test('a sidecar whose key is no longer valid does not decide by the policy on disk, and deletes it', async () => {
  const [server, spoolDir] = [await serve(), temporaryFolder()];
  const enrolment = await ranBefore(server, spoolDir);
  enrolment.reply = () => ({ status: 401, body: { error: 'the API key is revoked' } });
  const sidecar = await start(server, enrolment, spoolDir);
  await sidecar.ready(20_000);
  expect(sidecar.notReady()).toEqual([expect.stringMatching(/^the control plane refuses the key: .* 401, the API key is revoked$/)]);
  await sidecar.close(0);
  expect(readdirSync(spoolDir).filter((name) => name.startsWith('snapshot-'))).toEqual([]);
});

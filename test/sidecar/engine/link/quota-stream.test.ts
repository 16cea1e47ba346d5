// How the stream to the ledger ends, and whether the sidecar must wait before it connects again.
import { type handleBidiStreamingCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { type LeaseRequest__Output, type LeaseResponse, quotaService } from '@tollgate/proto';
import { expect, onTestFinished, test } from 'vitest';
import { holderSecret } from '../../../support/lease-names.ts';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { openQuotaStream } from '../../../../sidecar/engine/link/quota-stream.ts';

type Lease = handleBidiStreamingCall<LeaseRequest__Output, LeaseResponse>;

async function ledger(Lease: Lease): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  server.addService({ ...quotaService }, { Lease });
  const port = await new Promise<number>((done, fail) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? done(bound) : fail(error))),
  );
  onTestFinished(() => server.forceShutdown());
  return { server, port };
}

/** Resolves when the stream is lost: whether the sidecar must wait. */
function lostAt(port: number, opened: () => void): Promise<boolean> {
  const channel = createChannel({
    controlPlane: `127.0.0.1:${port}`,
    key: `gsk_acme_${'k'.repeat(32)}`,
    plaintext: true,
    linkCredentials: null,
  });
  return new Promise((done) => {
    openQuotaStream(channel, { sidecarId: 's', holderSecret: holderSecret('b') })({
      opened,
      lost: (_problem, barred) => done(barred),
      recalled: () => undefined,
    });
  });
}

test('a control plane that stops causes no wait: another one may answer at once', async () => {
  const { server, port } = await ledger((stream) => stream.sendMetadata(stream.metadata));
  expect(await lostAt(port, () => server.forceShutdown())).toBe(false);
});

test('a control plane that refuses causes a wait', async () => {
  const { port } = await ledger((stream) => void stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: 'too many' }));
  expect(await lostAt(port, () => undefined)).toBe(true);
});

// A stream does not wait for a connection that is never established. Here a server accepts it and sends nothing.
import { createServer } from 'node:net';
import { connectivityState, status } from '@grpc/grpc-js';
import { createAuditClient } from '@tollgate/proto';
import { expect, onTestFinished, test } from 'vitest';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { endTogether, ownConnection } from '../../../../sidecar/engine/link/own-connection.ts';
import { startAuditServer } from '../../../support/audit-server.ts';

function openAt(port: number, patienceMs: number) {
  const key = `gsk_acme_${'k'.repeat(32)}`;
  const channel = createChannel({ controlPlane: `127.0.0.1:${port}`, key, plaintext: true, linkCredentials: null });
  const client = createAuditClient(channel.address, channel.credentials(), ownConnection(channel));
  const stream = endTogether(client, client.ship(channel.metadata()), patienceMs);
  stream.on('error', () => undefined);
  return { client, stream };
}

/** Returns how an unanswered stream ends, and its connection. */
async function unanswered(patienceMs: number) {
  const silent = createServer(() => undefined);
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const { client, stream } = openAt(typeof address === 'object' && address !== null ? address.port : 0, patienceMs);
  const ended = await new Promise((done) => stream.on('status', done));
  return { client, ended };
}

test('a stream whose connection is not answered ends as unavailable, and closes the connection', async () => {
  const { client, ended } = await unanswered(20);
  expect(ended).toMatchObject({ code: status.UNAVAILABLE, details: 'no connection within 0.02 s' });
  expect(client.getChannel().getConnectivityState(false)).toBe(connectivityState.SHUTDOWN);
});

test('a stream that is answered continues, however long it lasts', async () => {
  const server = await startAuditServer();
  // Long enough for an answer, even on a busy machine.
  const patienceMs = 1_000;
  const { stream } = openAt(server.port, patienceMs);
  await new Promise((done) => {
    stream.once('data', done);
    stream.write({ hello: { sidecarId: 's' } });
  });
  let hasEnded = false;
  stream.on('status', () => {
    hasEnded = true;
  });
  // This stream was started later and is over, so the timeout of the first has passed too.
  await unanswered(patienceMs);
  expect(hasEnded).toBe(false);
  stream.cancel();
});

// The small HTTPS server behind enrolment and webhook, where somebody means it harm.
import { request } from 'node:https';
import { AppError } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { createRoom, readBody, startHttpsServer } from '../../control-plane/https-server.ts';
import { makeAuthority, makeServer } from '../../control-plane/x509/certificate.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('test', validity);

function post(port: number, body: Buffer): Promise<number | undefined> {
  return new Promise((done, fail) => {
    const sent = request({ host: 'localhost', port, method: 'POST', ca: authority.certificate, agent: false }, (response) => {
      response.resume();
      done(response.statusCode);
    });
    sent.on('error', fail).end(body);
  });
}

test('a large body is refused where there is no room for it, a small one never, and the room is there again', async () => {
  const room = createRoom(100_000);
  const server = await startHttpsServer(
    (asked) =>
      readBody(asked, 1_000_000, room).then(
        () => ({ status: 200, body: {} }),
        (error: unknown) => ({ status: AppError.from(error).code === 'unavailable' ? 503 : 500, body: {} }),
      ),
    { host: 'localhost', port: 0, bounds: { requestMs: 10_000, idleMs: 1_000, connections: 10 } },
    makeServer(authority, { dnsNames: ['localhost'], validity }),
  );
  onTestFinished(() => server.close(1_000));
  const statuses: (number | undefined)[] = [];
  for (const bytes of [90_000, 150_000, 90_000, 90_000]) statuses.push(await post(server.port, Buffer.alloc(bytes)));
  expect(statuses).toEqual([200, 503, 200, 200]);
  room.take(200_000);
  expect(await Promise.all([60_000, 70_000].map((bytes) => post(server.port, Buffer.alloc(bytes))))).toEqual([200, 503]);
});

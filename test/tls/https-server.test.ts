// The small HTTPS server behind enrolment and webhook, under attack.
import { once } from 'node:events';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AppError } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { createBodyBudget, readBody, type Reply, standardBounds, startHttpsServer } from '../../control-plane/certificates/https-server.ts';
import { makeAuthority, makeServer } from '../../control-plane/certificates/x509/certificate.ts';

const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 3_600_000) };
const authority = makeAuthority('test', validity);

const to = (port: number) => ({ host: '127.0.0.1', port, servername: 'localhost', ca: authority.certificate }) as const;

function post(port: number, body: Buffer, localAddress = '127.0.0.1'): Promise<number | undefined> {
  return new Promise((done, fail) => {
    const from = { ...to(port), localAddress, method: 'POST', agent: false } as const;
    const sent = request(from, (response) => {
      response.resume();
      done(response.statusCode);
    });
    sent.on('error', fail).end(body);
  });
}

const wide = { ...standardBounds, idleMs: 1_000 };

async function serve({ bounds = wide, answer }: { readonly bounds?: typeof wide | object; readonly answer?: () => Promise<Reply> } = {}) {
  const lines: object[] = [];
  const server = await startHttpsServer(
    answer ?? (async () => ({ status: 200, body: {} })),
    { host: '127.0.0.1', port: 0, bounds: { ...wide, ...bounds }, warn: (fields) => void lines.push(fields) },
    makeServer(authority, { dnsNames: ['localhost'], validity }),
  );
  onTestFinished(() => server.close(0));
  return { ...server, lines };
}

/** An open connection. How it ends is recorded from the beginning. */
async function open(port: number, localAddress = '127.0.0.1'): Promise<{ readonly socket: Socket; readonly ended: Promise<unknown> }> {
  const socket = connect({ host: '127.0.0.1', port, localAddress });
  socket.on('error', () => undefined).resume();
  const ended = new Promise((done) => socket.once('close', done));
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return { socket, ended };
}

test('a large body is rejected while the memory budget is used up, a small one never, and the budget is released afterwards', async () => {
  const budget = createBodyBudget(100_000);
  const server = await startHttpsServer(
    (asked) =>
      readBody(asked, 1_000_000, budget).then(
        () => ({ status: 200, body: {} }),
        (error: unknown) => ({ status: AppError.from(error).code === 'unavailable' ? 503 : 500, body: {} }),
      ),
    { host: '127.0.0.1', port: 0, bounds: wide, warn: () => undefined },
    makeServer(authority, { dnsNames: ['localhost'], validity }),
  );
  onTestFinished(() => server.close(1_000));
  const statuses: (number | undefined)[] = [];
  for (const bytes of [90_000, 150_000, 90_000, 90_000]) statuses.push(await post(server.port, Buffer.alloc(bytes)));
  expect(statuses).toEqual([200, 503, 200, 200]);
  budget.take(200_000);
  expect(await Promise.all([60_000, 70_000].map((bytes) => post(server.port, Buffer.alloc(bytes))))).toEqual([200, 503]);
});

test('one network can use only a part of the connections, and others are answered while it uses all of its part', async () => {
  const server = await serve({ bounds: { connections: 4, connectionsOfNetwork: 2 } });
  const [first] = [await open(server.port), await open(server.port)];
  await (await open(server.port)).ended;
  await (await open(server.port)).ended;
  // Every address of 127.0.0.0/8 belongs to this machine.
  expect(await post(server.port, Buffer.alloc(0), '127.0.0.2')).toBe(200);
  expect(server.lines).toEqual([{ why: 'network', network: '127.0.0.1', refused: 1 }]);
  first?.socket.destroy();
  await expect.poll(() => post(server.port, Buffer.alloc(0)).catch(() => 'refused')).toBe(200);
});

test('all networks together have no more connections than the limit', async () => {
  const server = await serve({ bounds: { connections: 3, connectionsOfNetwork: 2 } });
  for (const from of ['127.0.0.1', '127.0.0.1', '127.0.0.2']) await open(server.port, from);
  await (await open(server.port, '127.0.0.3')).ended;
  expect(server.lines).toEqual([{ why: 'connections', network: '127.0.0.3', refused: 1 }]);
});

test('a client without TLS or without a request is closed at its deadline, and one that was answered may stay longer', async () => {
  const hasty = await serve({ bounds: { handshakeMs: 100 } });
  await (await open(hasty.port)).ended;
  const { port } = await serve({ bounds: { headMs: 400, idleMs: 60_000 } });
  const idle = connectTls(to(port));
  await once(idle, 'secureConnect');
  idle.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(idle, 'data');
  const silent = connectTls(to(port))
    .on('error', () => undefined)
    .resume();
  await once(silent, 'secureConnect');
  await once(silent, 'close');
  expect(idle.destroyed || idle.readableEnded).toBe(false);
  idle.destroy();
});

// A control plane's REST over a connection to PostgreSQL that can be frozen and cut. One test checks the 503, and
// test/long measures the time until then.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createApp } from '../../control-plane/http/app.ts';
import type { AppDeps } from '../../control-plane/http/deps.ts';
import { createPool } from '../../control-plane/database/pool.ts';
import type { Rest } from './rest.ts';

/** A connection to PostgreSQL that can be frozen and cut. */
export async function createWire({ pool }: Rest) {
  const { host = '', port = 5432 } = pool.options;
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-wire-'));
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer((near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
    near.pipe(far).pipe(near);
    connections += 1;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(socket);
      });
    }
  });
  const listen = async () => {
    server.listen(join(folder, '.s.PGSQL.5432'));
    await once(server, 'listening');
  };
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  return {
    folder,
    /** How many connections were made since the beginning. */
    connections: () => connections,
    cut: stop,
    repair: listen,
    freeze: () => sockets.forEach((socket) => socket.unpipe()),
    close: async () => {
      if (server.listening) await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
export type Wire = Awaited<ReturnType<typeof createWire>>;

export async function createCutApp({ deps, owner, pool }: Rest, { folder }: Wire) {
  const { user, password, database } = pool.options;
  const cutPool = createPool({ host: folder, port: 5432, user, password, database }, pino({ level: 'silent' }));
  const lines: string[] = [];
  const cutDeps: AppDeps = {
    ...deps,
    pool: cutPool,
    readingPool: cutPool,
    registry: new Registry(),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
  };
  const app = createApp(cutDeps);
  const ask = async (method: 'GET' | 'PUT', url: string) => {
    const body =
      method === 'PUT'
        ? { payload: '{}', headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' } }
        : { headers: { authorization: `Bearer ${owner}` } };
    const answer = await app.inject({ method, url, ...body });
    return { status: answer.statusCode, body: answer.json<unknown>(), headers: answer.headers };
  };
  const close = async () => {
    await app.close();
    await cutPool.end();
  };
  /** The times that one request may wait: for a connection, and for an answer on it. */
  const { connectionTimeoutMillis = Number.POSITIVE_INFINITY, query_timeout: answerMs = Number.POSITIVE_INFINITY } = cutPool.options;
  return { ask, lines, waitMsMax: connectionTimeoutMillis + answerMs, close };
}

export const unreachable = { status: 503, body: { error: 'the database cannot be reached; try again' } };
export const readAndWrite = [
  ['GET', '/api/v1/agents'],
  ['PUT', '/acme/admin/workspacePolicy'],
] as const;

/** A request waits for the workspace's row until the returned function ends the other session. */
export async function lockWorkspace({ pool }: Rest): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query('begin; select 1 from workspace for update');
  let isLocked = true;
  return async () => {
    if (!isLocked) return;
    isLocked = false;
    await client.query('rollback');
    client.release();
  };
}

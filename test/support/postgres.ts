// Provides a test run with PostgreSQL: the one of TOLLGATE_TEST_DATABASE_URL, whose user may create databases,
// otherwise the embedded one in a temporary folder, in memory where enough is free. It creates one migrated template
// there, which database.ts clones. vitest.config.ts names it as a global setup; it removes everything afterwards.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../control-plane/database/embedded/start.ts';
import { migrate } from '../../control-plane/database/migrate.ts';
import { type ServerAddress, withClient } from './database.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const url = process.env['TOLLGATE_TEST_DATABASE_URL'];
  const server = url ? { address: addressFromUrl(url), close: async () => {} } : await startTemporary();
  try {
    const template = `tollgate_template_${randomBytes(4).toString('hex')}`;
    await withClient(server.address, (client) => client.query(`CREATE DATABASE ${template}`));
    const drop = () => withClient(server.address, (client) => client.query(`DROP DATABASE ${template}`));
    await migrate({ ...server.address, database: template }).catch(async (error: unknown) => {
      await drop();
      throw error;
    });
    project.provide('testServer', { address: server.address, template });
    return () => drop().then(server.close, server.close);
  } catch (error) {
    await server.close();
    throw error;
  }
}

function addressFromUrl(url: string): ServerAddress {
  const { host, port, user, password, database, ssl } = new Client(url);
  return { host, port, user, password, database, ssl };
}

async function startTemporary() {
  const dataDir = await mkdtemp(join(await temporaryPlace(), 'tollgate-test-'));
  const remove = () => rm(dataDir, { recursive: true, force: true });
  try {
    const server = await startEmbedded({ dataDir, log: () => {} });
    // Only in tests: no test survives a power failure anyway, and clones are made several times faster.
    await withClient(server.connection, async (client) => {
      await client.query('ALTER SYSTEM SET fsync = off');
      await client.query('SELECT pg_reload_conf()');
    });
    const close = async () => {
      await server.close();
      await remove();
    };
    return { address: server.connection, close };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** A clone has 330 files: some disks take 300 ms for them, memory 10 ms. */
async function temporaryPlace(): Promise<string> {
  const memory = '/dev/shm';
  const free = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  return free > 2 ** 31 ? memory : tmpdir();
}

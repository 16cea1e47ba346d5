// A data folder that cannot be created: Node's own `recursive` retries without end for a folder in /proc, so a control
// plane with its data there used 100 % CPU, and handled no signal.
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { exitOf, startSource } from '../support/source-process.ts';
import { temporaryFolder } from '../support/spools.ts';

const quiet = { TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', TOLLGATE_LOG_LEVEL: 'fatal' };
const onLinux = test.runIf(process.platform === 'linux');

function checkpointKey(): string {
  const path = join(temporaryFolder(), 'key.pem');
  writeFileSync(path, generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 });
  return path;
}

function start(...envs: readonly Readonly<Record<string, string>>[]) {
  const child = startSource('start-plane.ts', ...envs.map((env) => JSON.stringify({ ...quiet, ...env })));
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.unpipe().on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, exit: exitOf(child), said: () => said };
}

onLinux('data where no folder can be made: the start ends, and says why', { timeout: 60_000 }, async () => {
  const { exit, said } = start(
    { TOLLGATE_DATA_DIR: '/proc/tollgate' },
    { TOLLGATE_DATA_DIR: '/proc' },
    { TOLLGATE_DATA_DIR: '/proc', TOLLGATE_CHECKPOINT_KEY_FILE: checkpointKey() },
  );
  expect(await exit).toBe(0);
  expect(said().match(/^ended \d+$/gm)).toEqual(['ended 2', 'ended 2', 'ended 1']);
  for (const words of [
    'TOLLGATE_DATA_DIR is /proc/tollgate: /proc/tollgate cannot be created: no folder can be created in /proc',
    'the checkpoint key cannot be written to /proc/checkpoint-key.pem (ENOENT)',
    "ENOENT: no such file or directory, mkdir '/proc/postgres'",
  ])
    expect(said()).toContain(words);
});

onLinux(
  'with database and key elsewhere a control plane serves without the folder, and stops when it is told to',
  { timeout: 60_000 },
  async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.close());
    const { user, password, host, port, database: name } = database.connection;
    const DATABASE_URL = `postgres://${String(user)}:${encodeURIComponent(String(password ?? ''))}@/${String(name)}?host=${encodeURIComponent(String(host))}&port=${String(port)}`;
    const { child, exit, said } = start({
      DATABASE_URL,
      TOLLGATE_DATA_DIR: '/proc/tollgate',
      TOLLGATE_CHECKPOINT_KEY_FILE: checkpointKey(),
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(said()).toContain('ended 0');
  },
);

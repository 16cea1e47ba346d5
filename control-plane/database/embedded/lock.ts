// Makes sure that only one control plane at a time holds the embedded PostgreSQL. The end of its process, even by kill
// -9, releases the lock. Called by `start.ts`.
//
// A claim is a Unix socket with a name that is never used again. A claim is alive while a process listens on it. A
// process that wants the lock first publishes its claim and only then looks for other claims. Of two processes, at
// least one sees the other, so two processes never both take the lock. A dead claim can be removed safely, because no
// live claim has its name. States:
// - claimed: other claims are alive. The claim with the earlier name waits a moment, because the other may give up. The
//   claim with the later name gives up immediately. Of two processes that start together, one wins.
// - held: no other claim was alive after ours was published.
// - released: the socket is closed and its file is removed.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, rename, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode } from './error-code.ts';

const claimName = /^holder-(\d+)-[0-9a-f]{8}\.sock$/;
const patienceMs = 500;

export async function acquireLock(
  folder: string,
  dataDir: string,
  signal?: AbortSignal,
): Promise<{ readonly release: () => Promise<void> }> {
  const own = `holder-${process.pid}-${randomBytes(4).toString('hex')}.sock`;
  const release = await publishClaim(folder, own);
  try {
    for (const start = performance.now(); ; await delay(20, undefined, { signal })) {
      const rival = await findRival(folder, own);
      if (!rival) return { release };
      if (rival < own || performance.now() - start > patienceMs) throw new Error(refusal(dataDir, rival));
    }
  } catch (error) {
    await release();
    throw error;
  }
}

const refusal = (dataDir: string, rival: string) =>
  `The data directory ${dataDir} is in use by another control plane, pid ${claimName.exec(rival)?.[1]}: stop it, or set another TOLLGATE_DATA_DIR.`;

async function publishClaim(folder: string, name: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  // The socket is created under a draft name, and renamed when it listens. A published claim that refuses connections
  // is therefore certainly dead.
  const draft = join(folder, `draft-${name}`);
  server.listen(draft);
  await once(server, 'listening');
  server.unref();
  await rename(draft, join(folder, name));
  return async () => {
    server.close();
    await rm(join(folder, name), { force: true });
  };
}

async function findRival(folder: string, own: string): Promise<string | undefined> {
  for (const name of await readdir(folder)) {
    if (name === own || !claimName.test(name)) continue;
    if (await isAlive(join(folder, name))) return name;
    await rm(join(folder, name), { force: true });
  }
  return undefined;
}

/**
 * Returns whether a process listens on the claim. In doubt (no permission, a full backlog), the claim counts as alive.
 */
async function isAlive(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    return !['ECONNREFUSED', 'ENOENT'].includes(errorCode(error) ?? '');
  } finally {
    socket.destroy();
  }
}

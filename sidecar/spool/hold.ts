// Who owns a spool's subfolder: at most one living process, proven by a Unix socket in it that is listened on. The
// kernel closes the socket with the process, however that ends, so there is no lock to go stale.
//
// The sockets are named `alive.1`, `alive.2`, …: one for each process that owned the folder, the highest one last.
// To take a folder, a process sees that the highest, n, refuses connections, listens on a socket of its own under a
// private name, and links that to `alive.<n+1>`. Of all who try, link(2) lets one succeed; and since the socket is
// listened on before it has that name, nobody can ever see n+1 and find it dead while its process lives. So n+2 is
// taken only after the owner of n+1 is gone. Renaming or binding instead would leave a moment in which a taken
// folder looks dead.
// A folder of another machine (NFS) always looks dead: a spool folder must be local.
import { closeSync, constants, linkSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

export interface Hold {
  readonly folder: string;
  release(): void;
}

/** The folder is taken, or undefined: somebody living has it, or was quicker. */
export async function takeHold(folder: string, randomId: () => string): Promise<Hold | undefined> {
  const generation = highestGeneration(folder);
  if (generation > 0 && (await isAlive(folder, socketName(generation)))) return undefined;
  const handle = openFolder(folder);
  const privateName = `taking.${randomId()}`;
  const server = await listen(socketPath(folder, handle, privateName)).catch((error: unknown) => {
    closeSync(handle);
    throw error;
  });
  try {
    linkSync(join(folder, privateName), join(folder, socketName(generation + 1)));
  } catch (error) {
    server.close(() => closeSync(handle));
    if (isErrno(error, 'EEXIST')) return undefined;
    throw error;
  }
  unlinkSync(join(folder, privateName));
  return { folder, release: () => void server.close(() => closeSync(handle)) };
}

function socketName(generation: number): string {
  return `alive.${generation}`;
}

function highestGeneration(folder: string): number {
  const generations = readdirSync(folder).map((name) => Number(/^alive\.(\d{1,9})$/.exec(name)?.[1] ?? 0));
  return Math.max(0, ...generations);
}

// A socket's path has room for about a hundred bytes, a spool folder may be deeper than that. On Linux the way
// through the folder's open descriptor is always short. It stays open as long as the server: closing unlinks by path.
function socketPath(folder: string, handle: number, name: string): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle}/${name}` : join(folder, name);
}

function openFolder(folder: string): number {
  return openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // `exclusive`: in a worker of node:cluster the primary would listen, and outlive the worker.
    server.listen({ path, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

// Only a refused connection means that nobody listens. Anything else (no permission, a full backlog) says nothing,
// and what is not known to be dead is left alone.
async function isAlive(folder: string, name: string): Promise<boolean> {
  const handle = openFolder(folder);
  try {
    return await new Promise((resolve) => {
      const socket = connect(socketPath(folder, handle, name));
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', (error) => resolve(!isErrno(error, 'ECONNREFUSED')));
    });
  } finally {
    closeSync(handle);
  }
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

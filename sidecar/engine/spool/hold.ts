// Holds the ownership of a spool's subfolder: at most one living process owns it. The proof is a Unix socket in the
// folder on which the process listens. The kernel closes the socket when the process ends, for any reason, so no lock
// can become stale.
//
// The sockets are named `alive.1`, `alive.2`, …: one for each process that owned the folder. The highest number is the
// latest. To take a folder, a process first checks that the socket with the highest number, n, refuses connections.
// Then it listens on its own socket under a private name, and links this socket to `alive.<n+1>`. link(2) lets only one
// of the competing processes succeed. The process listens on the socket before the socket has that name, so no process
// can see n+1 and find it dead while its owner lives. Therefore n+2 is taken only after the owner of n+1 has ended.
// With a rename or a bind there would be a moment in which a taken folder looks dead. A folder of another machine (NFS)
// always looks dead: a spool folder must be local.
import { closeSync, constants, linkSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';

export interface Hold {
  readonly folder: string;
  release(): void;
}

/** Takes the folder. Undefined: a living process owns it, or another process was faster. */
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

// A socket path may have about a hundred bytes, and the path of a spool folder may be longer. On Linux the path through
// the folder's open descriptor is always short. The descriptor stays open as long as the server, because the server
// deletes its socket by this path when it closes.
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
    // Without `exclusive`, in a worker of node:cluster, the primary would listen and outlive the worker.
    server.listen({ path, exclusive: true }, () => {
      server.unref();
      resolve(server);
    });
  });
}

// Only a refused connection means that no process listens. Any other error (no permission, a full backlog) proves
// nothing, and a folder that is not known to be dead is not taken.
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

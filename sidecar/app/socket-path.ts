// Puts a Unix domain socket at its path, and removes it again. The socket is made in a private folder next to the path,
// gets its rights there, and is then linked to the path. So it has its rights from the first moment at which others can
// reach it, and link(2) never replaces what is at the path. What a dead process left is first moved into the private
// folder, and deleted only if it is the socket that refused connections.
import { constants, type Stats } from 'node:fs';
import { chmod, link, lstat, mkdtemp, open, rename, rmdir, stat, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { dirname, isAbsolute, join } from 'node:path';
import { isErrno } from '../engine/spool/hold.ts';

/** The longest path that connect(2) accepts on Linux, in bytes. */
const pathBytesMax = 107;
/** The owner and the group may connect. Connecting needs the right to write. */
const socketMode = 0o660;
const stickyBit = 0o1000;

/** Returns the problem of a path for a socket. Null: the path has the right form. It reads nothing from the disk. */
export function socketPathProblem(path: string): string | null {
  if (!isAbsolute(path) || path.endsWith('/')) return 'must be an absolute path of a file';
  const bytes = Buffer.byteLength(path);
  return bytes <= pathBytesMax ? null : `must be at most ${pathBytesMax} bytes long, has ${bytes}`;
}

export interface PlacedSocket {
  /** Deletes the socket at the path, unless another file is there now. Call it before the server is closed. */
  remove(): Promise<void>;
  /** Call it after the server is closed. */
  release(): Promise<void>;
}

interface SocketFile {
  readonly dev: number;
  readonly ino: number;
}

/** Lets the server listen on the path. Rejects with the problem in words; then the server does not listen. */
export async function placeSocket(server: Server, path: string): Promise<PlacedSocket> {
  const folder = dirname(path);
  await checkFolder(folder);
  const stale = await findStale(path);
  const own = await mkdtemp(join(folder, '.tollgate-')).catch((error: unknown) => {
    throw problem(`no folder can be made in ${folder} (${codeOf(error)})`, error);
  });
  // On Linux, the path through an open folder is short, however long the path of the folder is. The server deletes its
  // socket by this path when it closes, so the folder stays open until then.
  const handle = await open(own, constants.O_RDONLY | constants.O_DIRECTORY);
  const release = (): Promise<void> => handle.close();
  try {
    await listen(server, process.platform === 'linux' ? `/proc/self/fd/${handle.fd}/s` : join(own, 's'));
    await chmod(join(own, 's'), socketMode);
    const ours = await lstat(join(own, 's'));
    if (stale !== null) await deleteStale(path, stale, join(own, 'stale'));
    await link(join(own, 's'), path).catch((error: unknown) => {
      throw problem(
        isErrno(error, 'EEXIST') ? 'another process made a file there at the same time' : `it cannot be made (${codeOf(error)})`,
        error,
      );
    });
    await unlink(join(own, 's'));
    return { remove: () => removeOurs(path, ours), release };
  } catch (error) {
    await new Promise((closed) => server.close(closed));
    await release();
    throw error;
  } finally {
    // A file that could not be put back stays in the folder.
    await rmdir(own).catch(() => undefined);
  }
}

/** Checks that no other user can exchange the socket for their own. */
async function checkFolder(folder: string): Promise<void> {
  const found = await readable(folder, stat(folder));
  if (found === null) throw problem(`the folder ${folder} does not exist`);
  if (!found.isDirectory()) throw problem(`${folder} is not a folder`);
  const isShared = (found.mode & 0o002) !== 0 && (found.mode & stickyBit) === 0;
  if (isShared) throw problem(`every user can write to the folder ${folder}, and could put another socket there; run: chmod o-w ${folder}`);
}

/** Returns the socket of a dead process at the path. Null: nothing is there. Rejects if anything else is there. */
async function findStale(path: string): Promise<SocketFile | null> {
  const found = await readable(path, lstat(path));
  if (found === null) return null;
  if (!found.isSocket()) throw problem('there is a file that is not a socket; it is not deleted');
  const answer = await connectTo(path);
  if (answer === 'ECONNREFUSED') return found;
  if (answer === 'ENOENT') return null;
  throw problem(answer === null ? 'another process listens there' : `it is unknown whether another process listens there (${answer})`);
}

/** Returns null if a process accepts connections there, otherwise the code of the error. */
function connectTo(path: string): Promise<string | null> {
  return new Promise((done) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      done(null);
    });
    socket.once('error', (error) => done(codeOf(error)));
  });
}

/**
 * Deletes the socket that refused connections. Another process may have put its own socket at the path since then.
 * unlink(2) could delete that one after any check, so the file is moved first, and put back if it is another one.
 */
async function deleteStale(path: string, stale: SocketFile, moved: string): Promise<void> {
  const found = await readable(path, lstat(path));
  if (found === null) return;
  if (!isSame(found, stale)) throw problem('another process listens there');
  try {
    await rename(path, moved);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw problem(`the socket of a process that ended cannot be deleted (${codeOf(error)})`, error);
  }
  if (isSame(await lstat(moved), stale)) return unlink(moved);
  await link(moved, path).catch((error: unknown) => {
    throw problem(`another process replaced the file there at the same time, and its file is now at ${moved} (${codeOf(error)})`, error);
  });
  await unlink(moved);
  throw problem('another process listens there');
}

async function removeOurs(path: string, ours: SocketFile): Promise<void> {
  const found = await readable(path, lstat(path));
  if (found !== null && isSame(found, ours)) await unlink(path);
}

const isSame = (a: SocketFile, b: SocketFile): boolean => a.dev === b.dev && a.ino === b.ino;

/** Returns null if nothing is there. Rejects with the problem in words if that cannot be found out. */
async function readable(path: string, reading: Promise<Stats>): Promise<Stats | null> {
  try {
    return await reading;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null;
    throw problem(`${path} cannot be read (${codeOf(error)})`, error);
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((listening, fail) => {
    server.once('error', fail);
    // Without `exclusive`, in a worker of node:cluster, the primary would listen.
    server.listen({ path, exclusive: true }, () => {
      server.removeListener('error', fail);
      listening();
    });
  });
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'unknown');

const problem = (words: string, cause?: unknown): Error => new Error(words, { cause });

// Gives a folder a path that is short enough for the Unix sockets in it. The socket of a deeply nested folder is
// reached through a link in a private temporary folder. The sockets themselves stay in the data directory, so a restart
// finds them whatever happened to the link. Called by `start.ts`.
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Socket paths can have 107 bytes on Linux and 103 on macOS. The longest name below the folder has less than 40. */
const folderBytesMax = 103 - 40;

export async function shortenPath(folder: string): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  if (Buffer.byteLength(folder) <= folderBytesMax) return { path: folder, remove: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), 'tollgate-'));
  const path = join(temporary, 'postgres');
  await symlink(folder, path);
  return { path, remove: () => rm(temporary, { recursive: true, force: true }) };
}

// Gives a folder a name short enough for the Unix sockets in it. The socket of a deep folder
// is reached through a link in a private temporary folder; the sockets themselves never leave
// the data directory, so a restart finds them whatever happened to that link. Called by start.ts.
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Socket paths hold 107 bytes on Linux and 103 on macOS; our longest name below the folder is under 40. */
const folderBytesMax = 103 - 40;

export async function shortenPath(folder: string): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  if (Buffer.byteLength(folder) <= folderBytesMax) return { path: folder, remove: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), 'tollgate-'));
  const path = join(temporary, 'postgres');
  await symlink(folder, path);
  return { path, remove: () => rm(temporary, { recursive: true, force: true }) };
}

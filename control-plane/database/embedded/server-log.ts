// Opens PostgreSQL's own log, server.log. It is written to a file and never to our standard output. Its last lines are
// quoted when a start fails. Called by `cluster.ts` and `postmaster.ts`.
import { constants } from 'node:fs';
import { open, readFile, rename, stat } from 'node:fs/promises';

const rotateAtBytes = 10_000_000;
const quotedLines = 15;
/**
 * PostgreSQL's message about our own connection attempts during its start. Lines with this message are not quoted,
 * because they would displace the actual reason of a failure.
 */
const askedTooEarly = 'the database system is starting up';

export async function openLog(file: string) {
  const bytes = (await stat(file).catch(() => undefined))?.size ?? 0;
  const rotated = bytes > rotateAtBytes;
  if (rotated) await rename(file, `${file}.old`);
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
  const offset = rotated ? 0 : bytes;

  /** Returns what was written since the file was opened. */
  const read = async () => (await readFile(file)).subarray(offset).toString();
  const explain = async (problem: string) => {
    const lines = (await read())
      .trimEnd()
      .split('\n')
      .filter((line) => !line.includes(askedTooEarly))
      .slice(-quotedLines);
    return `${problem}. The last lines of ${file}:\n  ${lines.join('\n  ')}\nCorrect what they name and start again, or set DATABASE_URL to another PostgreSQL.`;
  };
  return { fd: handle.fd, read, explain, close: () => handle.close() };
}

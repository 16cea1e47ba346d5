// What putting a Unix domain socket at its path guarantees: rights from the first moment, nothing of others replaced or
// deleted, and one process at most.
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type PlacedSocket, placeSocket, socketPathProblem } from '../../../sidecar/app/socket-path.ts';
import { startSource } from '../../support/source-process.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-socket-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function place(path: string, name = 'it'): Promise<{ readonly server: Server; readonly placed: PlacedSocket }> {
  const server = createServer((socket) => socket.on('error', () => undefined).end(name));
  const placed = await placeSocket(server, path);
  onTestFinished(async () => {
    if (server.listening) await new Promise((closed) => server.close(closed));
    await placed.release();
  });
  return { server, placed };
}

/** Returns who answers at the path, or the code of the error. */
async function whoAnswers(path: string): Promise<string> {
  const socket = connect(path);
  let said = '';
  try {
    for await (const piece of socket.setEncoding('utf8')) said += piece;
    return said;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

/** Leaves the socket of a process that was killed at the path. */
async function leaveStale(path: string): Promise<void> {
  const child = startSource('./listen-until-killed.ts', path);
  await once(child.stdout, 'data');
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
  expect([lstatSync(path).isSocket(), await whoAnswers(path)]).toEqual([true, 'ECONNREFUSED']);
}

test.each([
  ['run/it', 'must be an absolute path of a file'],
  ['/run/', 'must be an absolute path of a file'],
  [`/${'a'.repeat(107)}`, 'must be at most 107 bytes long, has 108'],
  [`/${'é'.repeat(54)}`, 'must be at most 107 bytes long, has 109'],
  [`/${'a'.repeat(106)}`, null],
])('the path %s: %s', (path, problem) => {
  expect(socketPathProblem(path)).toBe(problem);
});

test('at every moment at which a file is at the path, it has mode 660, whatever the umask', async () => {
  const path = join(folder(), 'it');
  const before = process.umask(0);
  const seen = new Set<string>();
  let isOver = false;
  const look = (): void => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined) seen.add(`${found.isSocket()} ${(found.mode & 0o7777).toString(8)}`);
    if (!isOver) setImmediate(look);
  };
  try {
    look();
    await place(path);
  } finally {
    process.umask(before);
    isOver = true;
  }
  look();
  expect([...seen]).toEqual(['true 660']);
  expect(await whoAnswers(path)).toBe('it');
});

test('a path of 107 bytes works, although the private folder has a longer one', async () => {
  const made = folder();
  const path = join(made, 'a'.repeat(107 - Buffer.byteLength(made) - 1));
  await place(path);
  expect([Buffer.byteLength(path), await whoAnswers(path), readdirSync(made).length]).toEqual([107, 'it', 1]);
});

test('of many that take over the path of a killed process at once, one listens, and the others are refused', async () => {
  const path = join(folder(), 'it');
  await leaveStale(path);
  const names = Array.from({ length: 8 }, (_, at) => `number ${at}`);
  const done = await Promise.allSettled(names.map((name) => place(path, name)));
  const won = names.filter((_, at) => done[at]?.status === 'fulfilled');
  expect(won).toHaveLength(1);
  expect(await whoAnswers(path)).toBe(won[0]);
  for (const one of done)
    if (one.status === 'rejected') expect(String(one.reason)).toMatch(/another process (listens there|made a file there at the same time)/);
});

test('a process that listens keeps the path', async () => {
  const path = join(folder(), 'it');
  await place(path, 'first');
  await expect(place(path, 'second')).rejects.toThrow('another process listens there');
  expect(await whoAnswers(path)).toBe('first');
});

test('a file that is no socket is neither replaced nor deleted, and neither is what a link leads to', async () => {
  const made = folder();
  const [path, linked] = [join(made, 'it'), join(made, 'link')];
  writeFileSync(path, 'mine');
  symlinkSync(path, linked);
  mkdirSync(join(made, 'inner'));
  for (const one of [path, linked, join(made, 'inner')])
    await expect(place(one)).rejects.toThrow('there is a file that is not a socket; it is not deleted');
  expect([readFileSync(path, 'utf8'), readdirSync(made).toSorted()]).toEqual(['mine', ['inner', 'it', 'link']]);
});

test('the folder must exist, and only its owner may exchange files of others in it', async () => {
  const made = folder();
  const [shared, file] = [join(made, 'shared'), join(made, 'file')];
  mkdirSync(shared);
  writeFileSync(file, '');
  chmodSync(shared, 0o777);
  await expect(place(join(shared, 'it'))).rejects.toThrow(`every user can write to the folder ${shared}`);
  expect(readdirSync(shared)).toEqual([]);
  chmodSync(shared, 0o1777);
  await place(join(shared, 'it'));
  await expect(place(join(made, 'none/it'))).rejects.toThrow(`the folder ${join(made, 'none')} does not exist`);
  await expect(place(join(file, 'it'))).rejects.toThrow(`${file} is not a folder`);
});

test('the socket is deleted if it is at the path, and what replaced it is not', async () => {
  const made = folder();
  const [path, other] = [join(made, 'it'), join(made, 'other')];
  const ours = await place(path);
  await ours.placed.remove();
  expect(readdirSync(made)).toEqual([]);
  await ours.placed.remove();

  const replaced = await place(other);
  rmSync(other);
  await place(other, 'another');
  await replaced.placed.remove();
  await new Promise((closed) => replaced.server.close(closed));
  expect(await whoAnswers(other)).toBe('another');
});

test('the socket has the group of a folder that hands its group down', async ({ skip }) => {
  if (process.getuid?.() !== 0) skip('only root can give a folder to any group');
  const made = folder();
  chownSync(made, 0, 12_345);
  chmodSync(made, 0o2750);
  await place(join(made, 'it'));
  expect(lstatSync(join(made, 'it'))).toMatchObject({ gid: 12_345, uid: 0 });
});

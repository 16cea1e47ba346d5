import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../../../sidecar/engine/spool/make-folder.ts';
import { exitOf, startSource } from '../../../support/source-process.ts';
import { temporaryFolder } from '../../../support/spools.ts';

test('a folder is created with its parents, for its owner alone, and a second time it already exists', () => {
  const path = join(temporaryFolder(), 'a', 'b', 'c');
  makeFolder(path);
  writeFileSync(join(path, 'kept'), '');
  makeFolder(path);
  expect(readdirSync(path)).toEqual(['kept']);
  expect([path, join(path, '..'), join(path, '../..')].map((one) => statSync(one).mode & 0o777)).toEqual([0o700, 0o700, 0o700]);
});

test('a link to a folder counts as a folder; a file, or a broken link, does not', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, 'folder'));
  symlinkSync(join(root, 'folder'), join(root, 'link'));
  symlinkSync(join(root, 'nowhere'), join(root, 'dangling'));
  writeFileSync(join(root, 'file'), '');
  makeFolder(join(root, 'link'));
  makeFolder(join(root, 'link', 'inside'));
  expect(readdirSync(join(root, 'folder'))).toEqual(['inside']);
  for (const name of ['file', 'dangling']) expect(() => makeFolder(join(root, name))).toThrow('EEXIST');
  expect(() => makeFolder(join(root, 'file', 'inside'))).toThrow('ENOTDIR');
  expect(() => makeFolder(join(root, 'dangling', 'inside'))).toThrow('EEXIST');
});

// Node's own `recursive` retries on /proc without end: a sidecar with its spool there looped, and received no signal.
test.runIf(process.platform === 'linux')(
  'where a file system accepts no folders, the failure is reported and the creation is not attempted again',
  {
    timeout: 30_000,
  },
  async () => {
    const child = startSource('make-folder-of.ts', '/proc/tollgate/spool');
    const said: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
    expect(await exitOf(child)).toBe(0);
    expect(Buffer.concat(said).toString()).toBe('/proc/tollgate cannot be created: no folder can be created in /proc');
  },
);

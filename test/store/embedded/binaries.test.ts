// The binaries of the package: as npm leaves them, closed to others, copied, and under the account of an ordinary user.
import { chmod, chown, cp, mkdir, readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findNative } from '../../../control-plane/database/embedded/binaries.ts';
import { type Account, canRun, startProcess } from '../../support/control-plane-process.ts';
import { noneWorkIn, isRoot, query, otherAccount, usePlace } from './place.ts';

const native = findNative();
const { place, start } = usePlace();

describe('the binaries', () => {
  /** Copies the package as npm unpacks it: without links, which its postinstall script makes. */
  async function unpack(folder: string): Promise<string> {
    await cp(join(native, '../package.json'), join(folder, 'package.json'));
    const target = join(folder, 'native');
    await cp(native, target, { recursive: true, filter: async (path) => !(await readlink(path).catch(() => undefined)) });
    return target;
  }

  test('run after an install with --ignore-scripts', async () => {
    const bare = await unpack(join(place.scratch, 'package'));
    await expect(readlink(join(bare, 'lib/libpq.so.5'))).rejects.toThrow('ENOENT');
    const server = await start({ native: bare });
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(await readlink(join(bare, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
    await server.close();
    await start({ native: bare });
  });

  test.runIf(isRoot)('run for root from a home of mode 700, together with its data', async () => {
    const home = join(place.scratch, 'home');
    await mkdir(home, { mode: 0o700 });
    const closed = await unpack(join(home, 'package'));
    // The modes that umask 077 leaves.
    await chmod(closed, 0o700);
    await chmod(join(closed, 'bin/postgres'), 0o700);
    await chmod(join(closed, 'share/postgresql/postgres.bki'), 0o600);
    place.dataDir = join(home, '.tollgate');
    const lines: string[] = [];
    const config = { native: closed, copyDir: join(place.scratch, 'copies'), log: (line: string) => lines.push(line) };
    const server = await start(config);
    expect(await query(server, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await server.close();
    await start(config);
    expect(lines.filter((line) => line.startsWith('copied'))).toHaveLength(1);
  });

  test.runIf(isRoot)('are not used from a copy that another user can have planted', async () => {
    const closed = await unpack(join(place.scratch, 'home'));
    await chmod(join(place.scratch, 'home'), 0o700);
    const copyDir = join(place.scratch, 'copies');
    await start({ native: closed, copyDir }).then((server) => server.close());
    const [copy = ''] = await readdir(copyDir);
    await chown(join(copyDir, copy), otherAccount.uid, otherAccount.gid);
    await expect(start({ native: closed, copyDir })).rejects.toThrow(/must be a folder of the user of this process/);
    await chown(join(copyDir, copy), 0, 0);
    await chmod(copyDir, 0o777);
    await expect(start({ native: closed, copyDir })).rejects.toThrow(/must be a folder of the user of this process/);
  });

  const plain: Account = { uid: 65_534, gid: 65_534 };
  describe.runIf(isRoot && canRun(plain))('under an ordinary user', () => {
    beforeEach(async () => {
      const home = join(place.scratch, 'home');
      await mkdir(home, { mode: 0o700 });
      await chown(home, plain.uid, plain.gid);
      place.dataDir = join(home, '.tollgate');
    });

    test('run in a home of mode 700', async () => {
      const controlPlane = startProcess({ dataDir: place.dataDir, account: plain });
      await controlPlane.event('started');
      expect((await stat(join(place.dataDir, 'postgres/data'))).uid).toBe(plain.uid);
      await controlPlane.close();
      await noneWorkIn(place.scratch);
    });

    test('run from a copy in the data directory when the package lacks its links and is read-only', async () => {
      const bare = await unpack(join(place.scratch, 'package'));
      const controlPlane = startProcess({ dataDir: place.dataDir, account: plain, native: bare });
      await controlPlane.event('started');
      expect(await readdir(join(place.dataDir, 'postgres'))).toContainEqual(expect.stringMatching(/^postgresql-/));
      await expect(readlink(join(bare, 'lib/libpq.so.5'))).rejects.toThrow('ENOENT');
      await controlPlane.close();
    });

    test('are refused on a data directory of root', async () => {
      await (await start()).close();
      await chmod(place.dataDir, 0o755);
      const controlPlane = startProcess({ dataDir: place.dataDir, account: plain });
      await expect(controlPlane.event('started')).rejects.toThrow(/belongs to user 0, but this process runs as user 65534/);
      await controlPlane.close();
    });
  });
});

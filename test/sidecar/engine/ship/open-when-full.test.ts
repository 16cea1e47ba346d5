import { mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWhenFull } from '../../../../sidecar/engine/ship/open-when-full.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { adoptAll, openTestSpool, temporaryFolder } from '../../../support/spools.ts';

function disk(refusals: readonly (Error | undefined)[]) {
  const said: string[] = [];
  let time = 0;
  let tries = 0;
  const opened = openWhenFull(
    {
      open: async () => {
        const refusal = refusals[Math.min(tries++, refusals.length - 1)];
        if (refusal) throw refusal;
        return 'spool';
      },
      ship: (own) => {
        said.push(`ships in parallel ${own.last - own.acknowledged}`);
        return { close: async () => void said.push('closed') };
      },
      clock: {
        now: () => time,
        after: (ms, run) => {
          time += ms;
          setImmediate(run);
          return { cancel: () => {}, unref: () => {} };
        },
      },
      log: silentLog,
    },
    1_000,
  );
  return { opened, said };
}

const full = Object.assign(new Error('no space left'), { code: 'ENOSPC' });
const forbidden = Object.assign(new Error('permission denied'), { code: 'EACCES' });

test('on a disk that is too full for a spool, the existing entries are shipped first to free space', async () => {
  const { opened, said } = disk([full, full, undefined]);
  expect(await opened).toBe('spool');
  expect(said).toEqual(['ships in parallel 0', 'closed']);
});

test('a disk with free space causes no wait, and the wait for one that stays full ends', async () => {
  const roomy = disk([undefined]);
  expect(await roomy.opened).toBe('spool');
  expect(roomy.said).toEqual([]);
  const { opened, said } = disk([full]);
  await expect(opened).rejects.toBe(full);
  expect(said).toEqual(['ships in parallel 0', 'closed']);
});

test('a folder that cannot be written for another reason is rejected at once', async () => {
  const { opened, said } = disk([forbidden]);
  await expect(opened).rejects.toBe(forbidden);
  expect(said).toEqual([]);
});

test('what a process left that died while it made its spool is removed after a while, and what cannot be removed stops no adoption', async () => {
  const root = temporaryFolder();
  const spool = await openTestSpool({ folder: root });
  spool.append('{}');
  await spool.close();
  const [old, fresh] = ['a', 'b'].map((digit) => join(root, `${digit.repeat(32)}.new`));
  for (const path of [old, fresh]) mkdirSync(path ?? '');
  utimesSync(old ?? '', 0, 0);
  const [adopted] = await adoptAll(root);
  expect(adopted?.last).toBe(1);
  expect(readdirSync(root).filter((name) => name.endsWith('.new'))).toEqual([`${'b'.repeat(32)}.new`]);
  await adopted?.close();
});

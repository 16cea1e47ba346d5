import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createBacklogs } from '../../../sidecar/ship/backlogs.ts';
import { adoptDead } from '../../../sidecar/spool/adoption.ts';
import { randomSpoolId } from '../../../sidecar/spool/spool.ts';
import { diskFs } from '../../../sidecar/spool/spool-fs.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { openTestSpool, temporaryFolder } from '../../support/spools.ts';

test('of many dead spools those that found no place come as soon as others are done, not a minute later', async () => {
  const folder = temporaryFolder();
  const clock = createManualClock();
  for (let n = 0; n < 40; n += 1) {
    const dead = await openTestSpool({ folder });
    dead.append('{}');
    await dead.close();
  }
  const { backlog: spool } = await openTestSpool({ folder });
  const deps = { fs: diskFs, clock, log: silentLog, randomId: randomSpoolId };
  const backlogs = createBacklogs(
    {
      adopt: (max) => adoptDead(deps, { folder, workspace: 'acme', max }),
      clock,
      log: silentLog,
      onAdopted: (adopted) => void setImmediate(() => (adopted.acknowledge(adopted.last), backlogs.settle(adopted))),
      onRetired: () => {},
    },
    { spool, adoptEveryMs: 60_000 },
  );
  for (let second = 0; readdirSync(folder).length > 1; second += 1) {
    expect(second).toBeLessThan(30);
    await new Promise((resolve) => setTimeout(resolve, 50));
    clock.advance(1_000);
  }
  backlogs.stopAdopting();
  await backlogs.close();
});

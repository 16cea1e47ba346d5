import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createBacklogs } from '../../../../sidecar/engine/ship/backlogs.ts';
import { adoptDead } from '../../../../sidecar/engine/spool/adoption.ts';
import { randomSpoolId } from '../../../../sidecar/engine/spool/spool.ts';
import { diskFs } from '../../../../sidecar/engine/spool/spool-fs.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { eventually } from '../../../support/programs.ts';
import { silentLog } from '../../../support/silent-log.ts';
import { openTestSpool, temporaryFolder } from '../../../support/spools.ts';

test('dead spools over the limit are adopted as soon as others are done, not a minute later', async () => {
  const folder = temporaryFolder();
  const clock = createManualClock();
  for (let n = 0; n < 40; n += 1) {
    const dead = await openTestSpool({ folder });
    dead.append('{}');
    await dead.close();
  }
  const { backlog: spool } = await openTestSpool({ folder });
  const deps = { fs: diskFs, clock, log: silentLog, randomId: randomSpoolId, settle: async () => true };
  const looks: { readonly second: number; readonly found: number }[] = [];
  let held = 0;
  const startedAt = clock.now();
  const backlogs = createBacklogs(
    {
      adopt: async (max) => {
        const found = await adoptDead(deps, { folder, workspace: 'acme', max });
        looks.push({ second: (clock.now() - startedAt) / 1_000, found: found.length });
        held += found.length;
        return found;
      },
      clock,
      log: silentLog,
      onAdopted: (adopted) => void setImmediate(() => (adopted.acknowledge(adopted.last), backlogs.settle(adopted))),
      onRetired: () => (held -= 1),
    },
    { spool, adoptEveryMs: 60_000 },
  );
  const hasLooked = (times: number) =>
    eventually(
      async () => looks.length === times && held === 0 && clock.waits.length === 1,
      (has) => has,
    );
  for (const times of [1, 2]) {
    await hasLooked(times);
    clock.advance(1_000);
  }
  await hasLooked(3);
  expect(looks).toEqual([
    { second: 0, found: 16 },
    { second: 1, found: 16 },
    { second: 2, found: 8 },
  ]);
  await eventually(
    async () => readdirSync(folder).length,
    (left) => left === 1,
  );
  backlogs.stopAdopting();
  await backlogs.close();
});

test('the entries of dead processes are counted from their adoption until they are gone', async () => {
  const folder = temporaryFolder();
  const dead = await openTestSpool({ folder, segmentBytes: 100 });
  for (let n = 0; n < 4; n += 1) dead.append(JSON.stringify('x'.repeat(82)));
  await dead.close();
  const { backlog: spool } = await openTestSpool({ folder });
  const deps = { fs: diskFs, clock: createManualClock(), log: silentLog };
  let adopted = spool;
  const backlogs = await new Promise<ReturnType<typeof createBacklogs>>((done) => {
    const made = createBacklogs(
      {
        ...deps,
        adopt: (max) => adoptDead({ ...deps, randomId: randomSpoolId, settle: async () => true }, { folder, workspace: 'acme', max }),
        onAdopted: (found) => {
          adopted = found;
          setImmediate(() => done(made));
        },
        onRetired: () => {},
      },
      { spool, adoptEveryMs: 60_000 },
    );
  });
  expect(backlogs.adoptedBytes).toBe(400);
  for (const [sequence, bytes] of [
    [2, 200],
    [4, 0],
  ] as const) {
    adopted.acknowledge(sequence);
    backlogs.settle(adopted);
    expect(backlogs.adoptedBytes).toBe(bytes);
  }
  backlogs.stopAdopting();
  await backlogs.close();
});

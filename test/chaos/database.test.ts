// R5: whatever happens to PostgreSQL, sidecars continue to decide, REST refuses what it cannot do, every control plane
// is current after recovery, and nothing that was answered is lost. test/long/database.test.ts checks that each takes
// at most two seconds.
import { afterAll, afterEach, beforeAll, test } from 'vitest';
import { unmeasured } from './measure.ts';
import { type Bench, faults } from './withstanding.ts';
import { startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

const undo: Bench['undo'] = [];
afterEach(async () => {
  await world.postgres.heal();
  for (const step of undo.splice(0).reverse()) await step();
});

for (const { name, onLinux, run } of faults)
  test.runIf(!onLinux || process.platform === 'linux')(name, () => run({ world, measure: unmeasured, undo }));

// R5 in time: whatever happens to PostgreSQL, REST answers within two seconds, and every control plane is current two
// seconds after recovery. test/chaos/database.test.ts tests everything else.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Bench, faults } from '../chaos/withstanding.ts';
import { startWorld, type World } from '../chaos/world.ts';
import { createMeasured } from './timed.ts';

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

const promisedMs = 2_000;

for (const { name, onLinux, run } of faults)
  test.runIf(!onLinux || process.platform === 'linux')(`within two seconds: ${name}`, async () => {
    const { measure, steps, ms } = createMeasured();
    await run({ world, measure, undo });
    expect(steps()).toContain('an answer');
    for (const step of steps()) expect(Math.max(...ms(step)), step).toBeLessThan(promisedMs);
  });

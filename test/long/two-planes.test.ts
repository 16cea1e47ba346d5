// R6 in time: a write on one control plane is enforced by a sidecar of the other within a second.
// test/chaos/two-planes.test.ts tests everything else.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crossesOften, crossesWithoutListening, losses, writesAndUndoes } from '../chaos/crossing.ts';
import { startWorld, type World } from '../chaos/world.ts';
import { createMeasured } from './timed.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

test('a PUT on one is enforced by a sidecar of the other within a second', async () => {
  const { measure, ms } = createMeasured();
  await crossesOften({ world, measure });
  expect(Math.max(...ms('a write crosses'))).toBeLessThan(1_000);
});

test.each(losses)(
  'a PUT is enforced within a second and a half where the listening connection of the other was %s right before',
  async (how) => {
    const { measure, ms } = createMeasured();
    await crossesWithoutListening({ world, measure }, how);
    expect(Math.max(...ms('a write crosses'))).toBeLessThan(1_500);
  },
);

test('a thousand writes on both are held by every sidecar two seconds after the last', async () => {
  const { measure, ms } = createMeasured();
  await writesAndUndoes({ world, measure }, 500);
  expect(Math.max(...ms('all hold the newest'))).toBeLessThan(2_000);
});

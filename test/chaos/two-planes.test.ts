// R6: several control planes on one PostgreSQL are one. What is written on one is read and enforced on the other, and no
// sidecar ever goes back, whichever of them it follows and however often it moves. How soon: test/long/two-planes.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crossesOften, crossesWithoutListening, losses, planeAt, writesAndUndoes } from './crossing.ts';
import { unmeasured } from './measure.ts';
import { askAsOwner, putPolicy, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

test('what a write on one answered with its revision is what the other shows right after', async () => {
  for (let n = 0; n < 100; n += 1) {
    const rate = { tools: { [`read.${n % 3}`]: { api: { rateLimit: n + 1 } } } };
    const revision = await putPolicy(planeAt(world, n), rate);
    const shown = await askAsOwner(planeAt(world, n + 1), '/default/admin/workspacePolicy');
    expect(shown).toMatchObject({ status: 200, etag: `"${revision}"`, body: rate });
  }
});

test('a PUT on one is enforced by a sidecar of the other', () => crossesOften({ world, measure: unmeasured }));

test.each(losses)('also where the listening connection of the other was %s right before: revisions are polled for', (how) =>
  crossesWithoutListening({ world, measure: unmeasured }, how),
);

/** CI asks for 2,000. */
const pairs = Number(process.env['TOLLGATE_TEST_PAIRS'] ?? 500);

test(`a deny and its undoing, ${pairs} times, on one and on the other: no sidecar goes back, each holds what was compiled`, () =>
  writesAndUndoes({ world, measure: unmeasured }, pairs));

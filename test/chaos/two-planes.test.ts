// R6: several control planes on one PostgreSQL act as one. A write on one is read and enforced on the other, and no
// sidecar goes back to an older revision, whichever of them it follows and however often it moves.
// test/long/two-planes.test.ts measures how soon.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crossesOften, crossesWithoutListening, losses, planeAt, writesAndUndoes } from './crossing.ts';
import { unmeasured } from './measure.ts';
import { askAsOwner, putPolicy, startWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

test('after a write on one is answered with its revision, the other shows that revision', async () => {
  for (let n = 0; n < 100; n += 1) {
    const rate = { tools: { [`read.${n % 3}`]: { api: { rateLimit: n + 1 } } } };
    const revision = await putPolicy(planeAt(world, n), rate);
    const shown = await askAsOwner(planeAt(world, n + 1), '/default/admin/workspacePolicy');
    expect(shown).toMatchObject({ status: 200, etag: `"${revision}"`, body: rate });
  }
});

test('a PUT on one is enforced by a sidecar of the other', () => crossesOften({ world, measure: unmeasured }));

test.each(losses)(
  'a PUT is also enforced where the listening connection of the other was %s right before: revisions are polled for',
  (how) => crossesWithoutListening({ world, measure: unmeasured }, how),
);

/** CI asks for 2,000. */
const pairs = Number(process.env['TOLLGATE_TEST_PAIRS'] ?? 500);

test(`a deny and its undoing, ${pairs} times, alternately on both: no sidecar goes back, each holds the compiled revision`, () =>
  writesAndUndoes({ world, measure: unmeasured }, pairs));

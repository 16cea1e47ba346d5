// R2 in time: without its control plane a sidecar decides as fast as before, and it finds a restarted one within a
// second. test/chaos/outage.test.ts tests everything else.
import { expect, onTestFinished, test } from 'vitest';
import { startScene, survives } from '../chaos/killed-and-back.ts';
import { createMeasured, median } from './timed.ts';

test('after a kill and a restart: decisions are as fast as before, and everything works a second after the restart', async () => {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  const { measure, ms } = createMeasured();
  await survives(scene, measure);
  expect(median(ms('a call without'))).toBeLessThan(3 * median(ms('a call with')) + 5);
  expect(Math.max(...ms('the return'))).toBeLessThan(1_000);
});

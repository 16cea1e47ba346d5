// R2 in time: without its control plane a sidecar decides as fast as before, and it finds one that is back within a second. All else that holds
// then: test/chaos/outage.test.ts.
import { expect, onTestFinished, test } from 'vitest';
import { startScene, survives } from '../chaos/killed-and-back.ts';
import { createMeasured, median } from './timed.ts';

test('killed and back: decisions are as fast as before, and a second after it is back all is as it was', async () => {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  const { measure, ms } = createMeasured();
  await survives(scene, measure);
  expect(median(ms('a call without'))).toBeLessThan(3 * median(ms('a call with')) + 5);
  expect(Math.max(...ms('the return'))).toBeLessThan(1_000);
});

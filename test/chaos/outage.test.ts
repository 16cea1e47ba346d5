// R2: the control plane is killed and comes back. That a sidecar decides as fast without it, and finds it within a second:
// test/long/outage.test.ts.
import { expect, onTestFinished, test } from 'vitest';
import { startScene, survives } from './killed-and-back.ts';
import { unmeasured } from './measure.ts';

test('killed and back: decisions go on, the outage rule is exact, and after that all is as it was', async () => {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  await expect(survives(scene, unmeasured)).resolves.toBeUndefined();
});

// R2: the control plane is killed and restarted. test/long/outage.test.ts checks that a sidecar decides as fast without
// it, and finds it within a second.
import { expect, onTestFinished, test } from 'vitest';
import { startScene, survives } from './killed-and-back.ts';
import { unmeasured } from './measure.ts';

test('after a kill and a restart: decisions continue, the outage rule is exact, and then everything works as before', async () => {
  const scene = await startScene();
  onTestFinished(() => scene.close());
  await expect(survives(scene, unmeasured)).resolves.toBeUndefined();
});

// R9 in time, its short form: one of fifty sidecars never reads, and a policy reaches the others about as fast as
// before. test/control-plane/stalled-sidecar.test.ts tests its cost.
import { expect, test } from 'vitest';
import { expectOthersServed } from '../control-plane/stalling.ts';
import { createMeasured, median } from './timed.ts';

test('a sidecar that never reads does not delay other sidecars', async () => {
  const { measure, ms } = createMeasured();
  await expectOthersServed(measure);
  expect(median(ms('a policy reaches the others'))).toBeLessThan(10 * median(ms('a policy reaches all')) + 500);
});

// R9 in time, its short form: one of fifty sidecars never reads, and a policy reaches the others about as fast as before. What that costs:
// test/control-plane/stalled-sidecar.test.ts.
import { expect, test } from 'vitest';
import { expectOthersServed } from '../control-plane/stalling.ts';
import { createMeasured, median } from './timed.ts';

test('a sidecar that never reads costs no other sidecar a moment', async () => {
  const { measure, ms } = createMeasured();
  await expectOthersServed(measure);
  expect(median(ms('a policy reaches the others'))).toBeLessThan(10 * median(ms('a policy reaches all')) + 500);
});

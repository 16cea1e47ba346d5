// R9, its short form: one of fifty sidecars never reads, costs no more than two snapshots, and no other waits for it.
// test/long/stalled-sidecar.test.ts measures the times of the others.
import { expect, test } from 'vitest';
import { unmeasured } from '../chaos/measure.ts';
import { expectOthersServed } from './stalling.ts';

test('a sidecar that never reads costs at most two snapshots, and all others receive each policy before the next', {
  timeout: 120_000,
}, async () => {
  const { bytes, bytesMax } = await expectOthersServed(unmeasured);
  expect(bytes).toBeLessThan(bytesMax);
});

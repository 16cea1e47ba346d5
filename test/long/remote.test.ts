// Durability `remote` in time: without a control plane the first call is denied after five seconds, and later ones
// immediately. test/chaos/remote.test.ts tests everything else.
import { expect, test } from 'vitest';
import { waitsForTheLog } from '../chaos/waiting-for-the-log.ts';
import { createMeasured, median } from './timed.ts';

test('without a control plane the first caller waits for five seconds, and no later one does', async () => {
  const { measure, steps, ms } = createMeasured();
  await waitsForTheLog(measure);
  expect(Math.min(...ms('the first'))).toBeGreaterThan(4_900);
  expect(Math.max(...ms('a later one'))).toBeLessThan(2_500);
  process.stdout.write(
    `remote, medians: ${steps()
      .map((step) => `${step} ${median(ms(step)).toFixed(1)} ms`)
      .join(', ')}\n`,
  );
});

// Measures how soon entries reach a collector: from a control plane that sends, from one that takes over after a stop,
// and after a kill. test/chaos/audit-export.test.ts tests everything else.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { crosses, type Exporting, startExporting, takesOver } from '../chaos/taking-over.ts';
import { createMeasured } from './timed.ts';

let exporting: Exporting;
beforeAll(async () => {
  exporting = await startExporting();
});
afterAll(() => exporting?.close());

test('after a kill -9 of the sender another takes over within eight seconds', async () => {
  const { measure, ms } = createMeasured();
  await takesOver(exporting, measure);
  expect(Math.max(...ms('another takes over'))).toBeLessThan(8_000);
});

test('a new entry is exported within a second and a half, and within three once the sender was stopped', async () => {
  const { measure, ms } = createMeasured();
  await crosses(exporting, measure);
  expect(Math.max(...ms('an entry crosses'))).toBeLessThan(1_500);
  expect(Math.max(...ms('one after a stop'))).toBeLessThan(3_000);
});

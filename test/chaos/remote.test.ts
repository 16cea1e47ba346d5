// Durability `remote`. How long its callers wait: test/long/remote.test.ts.
import { expect, test } from 'vitest';
import { unmeasured } from './measure.ts';
import { waitsForTheLog } from './waiting-for-the-log.ts';

test('what a caller heard is in the log by then; without a control plane calls are denied, and the log says so later', async () => {
  await expect(waitsForTheLog(unmeasured)).resolves.toBeUndefined();
});

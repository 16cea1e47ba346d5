// Durability `remote`. test/long/remote.test.ts checks how long its callers wait.
import { expect, test } from 'vitest';
import { unmeasured } from './measure.ts';
import { waitsForTheLog } from './waiting-for-the-log.ts';

test('a decision is in the log before its caller receives it; without a control plane calls are denied, and the log shows it later', async () => {
  await expect(waitsForTheLog(unmeasured)).resolves.toBeUndefined();
});

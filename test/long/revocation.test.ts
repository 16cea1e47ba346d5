// A revocation ends open streams within five seconds. test/control-plane/revocation.test.ts and audit-stream.test.ts
// test that they end, and with which message.
import { expect, onTestFinished, test } from 'vitest';
import { drain, keyEnds, listen, makeWatcherKey } from '../control-plane/live.ts';
import { createRest } from '../control-plane/rest.ts';
import { openForEach, waysToRevoke } from '../control-plane/revoking.ts';
import { startPlane } from '../support/plane.ts';
import { timed } from './timed.ts';

const endsMsMax = 5_000;

test(`a key that ${waysToRevoke.join(', ')} ends its open streams within five seconds`, async () => {
  const plane = await startPlane();
  onTestFinished(() => plane.close());
  const late: unknown[] = [];
  for (const { way, revoke, ended } of await openForEach(plane)) {
    await revoke();
    const { ms } = await timed(() => ended);
    if (ms >= endsMsMax) late.push({ way, ms });
  }
  expect(late).toEqual([]);
});

test.each(keyEnds)('a live audit stream ends within five seconds when %s', async (_, end) => {
  const rest = await createRest();
  onTestFinished(() => rest.close());
  const { key, id } = await makeWatcherKey(rest);
  const live = await listen(rest, { key });
  onTestFinished(() => live.close());
  const { ms, result } = await timed(async () => {
    await end(rest, id);
    return drain(live);
  });
  expect(result).toHaveLength(1);
  expect(ms).toBeLessThan(endsMsMax);
});

// The number of slow reads that can wait for one pool.
import { Pool } from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { readPatiently } from '../../control-plane/database/patience.ts';

test('10,000 reads wait for a connection, one more is rejected at once, and after these are answered it is served', async () => {
  const pool = new Pool({ ...inject('testServer').address, max: 1 });
  onTestFinished(() => pool.end());
  const held = await pool.connect();
  const read = (): Promise<string> => readPatiently(pool, () => Promise.resolve('read'));
  const waiting = Array.from({ length: 10_000 }, read);
  const refused = read().catch((reason: unknown) => reason);
  held.release();
  expect(await refused).toMatchObject({
    code: 'unavailable',
    publicMessage: '10000 reads of the database are already in progress, which is the maximum; try again',
    retryAfterSeconds: 1,
  });
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['read']));
  expect(await read()).toBe('read');
});

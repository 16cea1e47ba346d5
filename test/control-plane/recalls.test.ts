// How many recalls are remembered and pending, over a real PostgreSQL that does not answer for a while.
import type { QuotaCounter } from '@tollgate/proto/contract';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRecalls } from '../../control-plane/quota/operations/recalls.ts';
import { recallChannel } from '../../control-plane/quota/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.close());

function startRecalls() {
  const pool = new Pool({ ...database.connection, max: 1 });
  onTestFinished(() => pool.end());
  const warnings: string[] = [];
  const recalls = createRecalls({ pool, now: () => 0, log: { warn: (_, message) => void warnings.push(message) } });
  return { pool, recalls, warnings };
}

const recallOf = (id: string) => ({
  holder: 'holder',
  grantId: 1,
  counter: { kind: 'limit', originSub: 'ann', id } satisfies QuotaCounter,
});
const recallsOf = (name: string, count: number) => Array.from({ length: count }, (_, n) => recallOf(`${name}-${n}`));

test('the last 10,000 sent recalls are remembered, so that a holder receives them once; with one more all are forgotten', () => {
  const { recalls } = startRecalls();
  const heard: string[] = [];
  recalls.attach(1, 'holder', (counters) => void heard.push(...counters.map(({ id }) => id)));
  const lately = recallsOf('lately', 10_000);
  recalls.send(1, lately);
  recalls.send(1, lately);
  expect(heard).toHaveLength(10_000);
  recalls.send(1, [recallOf('one more')]);
  recalls.send(1, lately.slice(0, 3));
  expect(heard.slice(10_000)).toEqual(['one more', 'lately-0', 'lately-1', 'lately-2']);
});

test('while the database does not answer, 1,000 recalls are being sent and 1,000 are pending; further ones and long ones are dropped', async () => {
  const { pool, recalls, warnings } = startRecalls();
  const listener = new Client(database.connection);
  await listener.connect();
  onTestFinished(() => listener.end());
  const heard: string[] = [];
  const last = new Promise<void>((resolve) => {
    listener.on('notification', ({ payload = '' }) => {
      const [, , { id }] = JSON.parse(payload);
      heard.push(id);
      // All other pending recalls are sent before it, since it is sent once these have arrived.
      if (id === 'waiting-999') setImmediate(() => recalls.send(1, [recallOf('last')]));
      if (id === 'last') resolve();
    });
  });
  await listener.query(`listen ${recallChannel}`);
  const held = await pool.connect();
  // As JSON it is longer than NOTIFY accepts, and would make the others fail with it.
  recalls.send(1, [recallOf('ü'.repeat(4_000)), ...recallsOf('told', 1_500)]);
  recalls.send(1, recallsOf('waiting', 1_500));
  recalls.send(1, recallsOf('late', 500));
  held.release();
  await last;
  expect(heard).toEqual([...recallsOf('told', 1_000), ...recallsOf('waiting', 1_000), recallOf('last')].map(({ counter }) => counter.id));
  expect(warnings).toEqual([]);
});

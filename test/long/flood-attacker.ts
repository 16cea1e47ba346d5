// The program of flood.ts that attacks: as many requests a second as its key may make, over many connections; at the end, or once nobody
// answers any more, it says what came of them. An attacker has a machine of its own: here it takes what the other programs leave.
import { setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Attacked, attackOf, type AttackOrder } from './flood-requests.ts';

const connections = 96;
/** Of a process, of which this user may set any that is lower. */
const lowest = 19;
/** In a row: the program has ended. */
const failedMax = 1_000;

async function attack({ url, key, requestsPerSecond, minutes }: AttackOrder): Promise<Attacked> {
  const pool = new Pool(url, { connections });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const began = performance.now();
  const seconds = (): number => (performance.now() - began) / 1_000;
  const seen = { sent: 0, answered: 0, refused: 0, failed: 0 };
  let failedInRow = 0;
  const askOnce = async (): Promise<void> => {
    seen.sent += 1;
    try {
      const answer = await pool.request({ path: '/govern/tool-use', method: 'POST', headers, body: attackOf(seen.sent) });
      const said = await answer.body.text();
      failedInRow = 0;
      // Versions before said it with 429.
      if (answer.statusCode === 429 || said.includes('"request_limit: ')) seen.refused += 1;
      else if (answer.statusCode < 500) seen.answered += 1;
    } catch {
      seen.failed += 1;
      failedInRow += 1;
      await delay(5);
    }
  };
  const askOn = async (): Promise<void> => {
    while (seconds() < minutes * 60 && failedInRow < failedMax) {
      if (seen.sent > seconds() * requestsPerSecond) await delay(2);
      else await askOnce();
    }
  };
  await Promise.all(Array.from({ length: connections }, askOn));
  await pool.close().catch(() => undefined);
  return seen;
}

setPriority(lowest);
const order: AttackOrder = JSON.parse(process.argv[2] ?? '');
process.stdout.write(JSON.stringify(await attack(order)));

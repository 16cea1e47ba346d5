// Durability `remote`, for the spool alone: which callers wait for the control plane, for how long, and what they are
// answered.
import { expect, test } from 'vitest';
import { createManualClock } from '../../../support/manual-clock.ts';
import { openTestSpool, readLeftBehind, temporaryFolder } from '../../../support/spools.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function openRemote(confirmMs = 5_000) {
  const clock = createManualClock();
  const folder = temporaryFolder();
  const spool = await openTestSpool({ folder, clock, durability: 'remote', confirmMs });
  return { clock, folder, spool };
}

/** The state of the answer so far. */
function heard(answer: Promise<number>): { now: string } {
  const seen = { now: 'waiting' };
  answer.then(
    (sequence) => (seen.now = `recorded as ${sequence}`),
    (error: { why?: string }) => (seen.now = String(error.why)),
  );
  return seen;
}

test('a caller is answered when its entry is acknowledged, not when it is written, and so are the callers before it', async () => {
  const { spool } = await openRemote();
  const answers = ['1', '2', '3'].map((text) => heard(spool.appendAsync(text)));
  await turn();
  expect(spool.backlog.last).toBe(3);
  expect(answers.map(({ now }) => now)).toEqual(['waiting', 'waiting', 'waiting']);
  spool.backlog.acknowledge(2);
  await turn();
  expect(answers.map(({ now }) => now)).toEqual(['recorded as 1', 'recorded as 2', 'waiting']);
  spool.backlog.acknowledge(3);
  await turn();
  expect(answers[2]?.now).toBe('recorded as 3');
  await spool.close();
});

test('an unreachable control plane is waited for up to a maximum; then no caller waits, until it acknowledges again', async () => {
  const { clock, spool } = await openRemote();
  const first = heard(spool.appendAsync('1'));
  await turn();
  clock.advance(3_000);
  const second = heard(spool.appendAsync('2'));
  await turn();
  clock.advance(1_999);
  await turn();
  expect([first.now, second.now]).toEqual(['waiting', 'waiting']);
  clock.advance(1);
  await turn();
  expect([first.now, second.now]).toEqual(['unconfirmed', 'waiting']);
  const third = heard(spool.appendAsync('3'));
  await turn();
  expect(third.now).toBe('unconfirmed');
  clock.advance(3_000);
  await turn();
  expect(second.now).toBe('unconfirmed');
  // The entry is still written, and its acknowledgement ends the state without waiting.
  expect(spool.backlog.last).toBe(3);
  spool.backlog.acknowledge(1);
  const fourth = heard(spool.appendAsync('4'));
  await turn();
  expect(fourth.now).toBe('waiting');
  spool.backlog.acknowledge(4);
  await turn();
  expect(fourth.now).toBe('recorded as 4');
  expect(clock.waits).toEqual([]);
  await spool.close();
});

test('the number of waiting callers is bounded: one too many is refused before anything is written', async () => {
  const { spool } = await openRemote();
  const answers = Array.from({ length: 16_384 }, () => heard(spool.appendAsync('1')));
  await turn();
  await turn();
  await expect(spool.appendAsync('"too many"')).rejects.toMatchObject({ why: 'busy' });
  expect(spool.backlog.last).toBe(16_384);
  spool.backlog.acknowledge(16_384);
  await turn();
  expect(new Set(answers.map(({ now }) => now.split(' ')[0]))).toEqual(new Set(['recorded']));
  await spool.close();
});

test('a caller that waits when the spool is closed gets an unknown result, and the entry is there for the next process', async () => {
  const { folder, spool } = await openRemote();
  const answer = heard(spool.appendAsync('"left"'));
  await spool.close();
  await turn();
  expect(answer.now).toBe('unconfirmed');
  expect(await readLeftBehind(folder)).toEqual(['1: "left"']);
});

test('an entry that does not need a commit first is written at once', async () => {
  const { spool } = await openRemote();
  expect(spool.append('"other"')).toBe(1);
  expect(spool.backlog.last).toBe(1);
  await spool.close();
});

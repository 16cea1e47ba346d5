// One program that serves everybody: what it says to those who do not read is kept within one bound, whoever they are.
import { expect, test } from 'vitest';
import type { Answer } from '../../../../sidecar/upstream/exchange.ts';
import { openSharedProgram } from '../../../../sidecar/upstream/programs/shared.ts';
import type { ChannelListener } from '../../../../sidecar/upstream/upstream.ts';
import { type ClientRequest, messageText } from '../../../../sidecar/upstream/wire/message.ts';

const mebi = 1_048_576;

async function open() {
  let listener: ChannelListener | null = null;
  const program = await openSharedProgram(
    (of) => {
      listener = of;
      return Promise.resolve({ send: () => Promise.resolve(), close: () => undefined });
    },
    () => undefined,
  );
  const say = (message: object): void => void listener?.message(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })));
  return {
    /** A call; its number on the line is the how-manieth it is. */
    ask: (id: number): Promise<Answer> => {
      const params = { name: 'a', arguments: {}, _meta: { progressToken: id } };
      const message: ClientRequest = { kind: 'request', id, method: 'tools/call', params, hasParams: true };
      const { signal } = new AbortController();
      return program.exchange({ era: 'modern', method: 'POST', headers: {}, message, body: messageText(message), signal });
    },
    progress: (number: number, length: number): void =>
      say({ method: 'notifications/progress', params: { progressToken: number, progress: 1, message: 'x'.repeat(length) } }),
    answer: (number: number): void => say({ id: number, result: {} }),
  };
}

interface Read {
  readonly lengths: readonly number[];
  readonly problem: string | null;
}

async function readAll({ body }: Answer): Promise<Read> {
  const lengths: number[] = [];
  if (body.kind !== 'events') return { lengths: [body.kind === 'json' ? body.bytes.length : 0], problem: null };
  try {
    for await (const event of body.events) lengths.push(event?.data?.length ?? 0);
    return { lengths, problem: null };
  } catch (error) {
    return { lengths, problem: String(error) };
  }
}

const sum = (all: readonly Read[]): number => all.flatMap(({ lengths }) => lengths).reduce((total, length) => total + length, 0);

test('what waits for all its readers together is bounded; who has most waiting loses it, and the others get theirs', async () => {
  const { ask, progress, answer } = await open();
  const asked = [1, 2, 3, 4].map(ask);
  for (const number of [1, 2, 3, 4]) progress(number, 10);
  const answers = await Promise.all(asked);
  for (let n = 0; n < 20; n += 1) for (const number of [2, 3, 4]) progress(number, mebi);
  progress(1, mebi);
  for (const number of [1, 2, 3, 4]) answer(number);
  const all = await Promise.all(answers.map(readAll));
  const [ofQuiet, ...ofLoud] = all;
  expect(ofQuiet?.lengths).toHaveLength(3);
  expect(ofQuiet?.problem).toBeNull();
  expect(ofLoud.map(({ problem }) => problem)).toContainEqual(expect.stringContaining('was not listened to for too long'));
  // Of 60 messages of a mebicharacter.
  expect(sum(all)).toBeLessThan(34 * mebi);
});

test('what was said to one that did not read for too long is dropped when it loses its place', async () => {
  const { ask, progress } = await open();
  const asked = ask(1);
  progress(1, 1_000);
  const answered = await asked;
  for (let n = 0; n < 300; n += 1) progress(1, 1_000);
  const { lengths, problem } = await readAll(answered);
  // What it had in hand.
  expect(lengths).toHaveLength(1);
  expect(problem).toContain('was not listened to for too long');
});

test('an answer that nobody reads counts too, and gives way to what comes for others', async () => {
  const { ask, progress, answer } = await open();
  const unread = [1, 2].map(ask);
  for (const number of [1, 2]) {
    progress(number, 10);
    await unread[number - 1];
    for (let n = 0; n < 15; n += 1) progress(number, mebi);
    answer(number);
  }
  const third = ask(3);
  progress(3, 10);
  const answered = await third;
  for (let n = 0; n < 4; n += 1) progress(3, mebi);
  answer(3);
  expect(await readAll(answered)).toMatchObject({ lengths: { length: 6 }, problem: null });
  const reads = await Promise.all(unread.map(async (one) => readAll(await one)));
  expect(sum(reads)).toBeLessThan(20 * mebi);
  const told = reads.map(({ problem }) => problem);
  expect(told).toEqual(expect.arrayContaining([null, expect.stringContaining('was not listened to for too long')]));
});

test('those who do not let go of what they have in hand take no room from others', async () => {
  const { ask, progress, answer } = await open();
  const held = [1, 2].map(ask);
  for (const number of [1, 2]) progress(number, 15 * mebi);
  await Promise.all(held);
  const other = ask(3);
  progress(3, mebi);
  const answered = await other;
  for (let n = 0; n < 4; n += 1) progress(3, mebi);
  answer(3);
  expect(await readAll(answered)).toMatchObject({ lengths: { length: 6 }, problem: null });
});

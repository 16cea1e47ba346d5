// One program that serves all clients: its unread messages are held within one bound for all readers together.
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
    /** Sends a call. Its id on the line is its number in the order of calls. */
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

interface ReadResult {
  readonly lengths: readonly number[];
  readonly problem: string | null;
}

async function readAll({ body }: Answer): Promise<ReadResult> {
  const lengths: number[] = [];
  if (body.kind !== 'events') return { lengths: [body.kind === 'json' ? body.bytes.length : 0], problem: null };
  try {
    for await (const event of body.events) lengths.push(event?.data?.length ?? 0);
    return { lengths, problem: null };
  } catch (error) {
    return { lengths, problem: String(error) };
  }
}

const sum = (all: readonly ReadResult[]): number => all.flatMap(({ lengths }) => lengths).reduce((total, length) => total + length, 0);

test('the unread messages of all readers together are bounded; the reader with most loses its messages, and the others get theirs', async () => {
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
  expect(ofLoud.map(({ problem }) => problem)).toContainEqual(expect.stringContaining('had unread messages for too long'));
  // Of 60 messages of a mebicharacter.
  expect(sum(all)).toBeLessThan(34 * mebi);
});

test('messages for a reader that did not read for too long are dropped when it is removed', async () => {
  const { ask, progress } = await open();
  const asked = ask(1);
  progress(1, 1_000);
  const answered = await asked;
  for (let n = 0; n < 300; n += 1) progress(1, 1_000);
  const { lengths, problem } = await readAll(answered);
  // The message that it was reading.
  expect(lengths).toHaveLength(1);
  expect(problem).toContain('had unread messages for too long');
});

test('an answer that is not read counts too, and is evicted in favour of messages for others', async () => {
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
  expect(told).toEqual(expect.arrayContaining([null, expect.stringContaining('had unread messages for too long')]));
});

test('readers that keep their current message use no memory of others', async () => {
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

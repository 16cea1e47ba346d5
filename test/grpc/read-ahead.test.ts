// How much a stream reads while no consumer takes messages.
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readOnlyWhileFlowing } from '../../control-plane/grpc/read-ahead.ts';

/** The messages come one by one, on request, each in a separate turn of the event loop. */
function start(messages: number) {
  let asked = 0;
  const stream: Readable = new Readable({
    objectMode: true,
    read: () => {
      asked += 1;
      const next = asked > messages ? null : asked;
      setImmediate(() => stream.push(next));
    },
  });
  readOnlyWhileFlowing(stream);
  return { stream, asked: () => asked };
}

async function settled(): Promise<void> {
  for (let turns = 0; turns < 100; turns += 1) await turn();
}

test('a paused stream reads at most one message ahead, continues where it stopped, and loses no message', async () => {
  const { stream, asked } = start(100);
  const taken: number[] = [];
  let pausesAt = 10;
  stream.on('data', (message: number) => {
    taken.push(message);
    if (taken.length === pausesAt) stream.pause();
  });
  for (; pausesAt <= 90; pausesAt += 10) {
    stream.resume();
    await settled();
    expect(taken).toHaveLength(pausesAt);
    expect(asked()).toBeLessThanOrEqual(pausesAt + 1);
  }
  pausesAt = 0;
  const ended = new Promise((done) => stream.on('end', done));
  stream.resume();
  await ended;
  expect(taken).toEqual(Array.from({ length: 100 }, (_, at) => at + 1));
});

test('a stream that is paused before it read anything reads nothing, and one that is resumed and paused at once loses nothing', async () => {
  const { stream, asked } = start(3);
  stream.pause();
  const taken: number[] = [];
  stream.on('data', (message: number) => taken.push(message));
  await settled();
  expect(asked()).toBe(0);
  for (let times = 0; times < 5; times += 1) {
    stream.resume();
    stream.pause();
  }
  await settled();
  const ended = new Promise((done) => stream.on('end', done));
  stream.resume();
  await ended;
  expect(taken).toEqual([1, 2, 3]);
});

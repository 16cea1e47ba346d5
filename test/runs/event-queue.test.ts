import { expect, test } from 'vitest';
import { createEventQueue, type QueuedEvent } from '../../control-plane/runs/event-queue.ts';
import type { RunEvent } from '../../control-plane/runs/events.ts';

const text = (delta: string): RunEvent => ({ kind: 'text', data: { delta } });
const failed: RunEvent = { kind: 'error', data: { error: 'no' } };
async function all(events: AsyncIterable<QueuedEvent>): Promise<readonly QueuedEvent[]> {
  const found: QueuedEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Returns whether a promise is settled now. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await turn();
  return over;
}

test('events are sent in order, and nothing after the last one', async () => {
  const { emit, events } = createEventQueue(new AbortController().signal);
  const told = [text('a'), text('b'), failed].map(emit);
  expect(await all(events)).toEqual([text('a'), text('b'), failed]);
  await Promise.all(told);
});

test('the run waits until its event was read and the next one is requested', async () => {
  const { emit, events } = createEventQueue(new AbortController().signal);
  const first = emit(text('a'));
  expect(await isOver(first)).toBe(false);
  expect((await events.next()).value).toEqual(text('a'));
  expect(await isOver(first)).toBe(false);
  const next = events.next();
  expect(await isOver(first)).toBe(true);
  const second = emit(text('b'));
  expect((await next).value).toEqual(text('b'));
  expect(await isOver(second)).toBe(false);
  await events.return(undefined);
  expect(await isOver(second)).toBe(true);
});

test('a heartbeat is sent where nothing happens for a while', async () => {
  const { emit, events } = createEventQueue(new AbortController().signal, 1);
  expect((await events.next()).value).toBeNull();
  expect((await events.next()).value).toBeNull();
  void emit(failed);
  const rest = await all(events);
  expect(rest.at(-1)).toEqual(failed);
});

test('a reader that has gone delays no one, whether the events were read or not', async () => {
  const read = new AbortController();
  const reading = createEventQueue(read.signal);
  const waiting = [reading.emit(text('a')), reading.emit(text('b'))];
  await reading.events.next();
  read.abort();
  await Promise.all(waiting);
  await reading.emit(text('c'));
  expect(await all(reading.events)).toEqual([]);

  const unread = new AbortController();
  const told = createEventQueue(unread.signal);
  const emitted = told.emit(text('a'));
  unread.abort();
  await emitted;
  const gone = createEventQueue(unread.signal);
  await gone.emit(failed);
  expect(await all(gone.events)).toEqual([]);
});

// The memory budget for bodies that are read at one time, counted with their size after parsing. Callers share it, no
// caller waits without end, and a small heap is not exceeded.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { BodyMemory, MemoryIsFull } from '../../../../sidecar/doors/entrance/body-memory.ts';

const script = fileURLToPath(new URL('../../../support/many-values.ts', import.meta.url));

/** Null: the process ended because it ran out of memory. */
function sendMany(heapMb: number, ...what: readonly string[]): Promise<{ readonly read: number; readonly later: number } | null> {
  const node = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=16', '--import', 'tsx', '--conditions=tollgate-source'];
  const child = spawn(process.execPath, [...node, script, ...what], { stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  let wrong = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  child.stderr.on('data', (text: Buffer) => (wrong += text.toString()));
  return new Promise((done, fail) => {
    child.once('close', (code) => {
      if (code === 0) done(JSON.parse(said) as { read: number; later: number });
      else if (wrong.includes('heap out of memory')) done(null);
      else fail(new Error(wrong));
    });
  });
}

test('the most expensive bodies of many callers at one time stay within the heap of a sidecar, and of a control plane', async () => {
  const bodies = await sendMany(256, 'bodies');
  expect(bodies?.read).toBeGreaterThanOrEqual(3);
  expect((bodies?.read ?? 0) + (bodies?.later ?? 0)).toBe(60);
  const sets = await sendMany(512, 'sets');
  expect(sets?.read).toBeGreaterThanOrEqual(1);
  expect((sets?.read ?? 0) + (sets?.later ?? 0)).toBe(8);
}, 60_000);

test('the most expensive messages of tool servers wait for each other within that heap, and each is read', async () => {
  expect(await sendMany(256, 'messages')).toEqual({ read: 8, later: 0 });
}, 60_000);

test('bodies that are counted at their wire size exhaust the memory of the process', async () => {
  expect(await sendMany(256, 'bodies', 'uncounted')).toBeNull();
}, 60_000);

const bytes = (count: number): Buffer => Buffer.from(`"${'x'.repeat(count - 2)}"`);
const values = (count: number): Buffer => Buffer.from(`[${Array.from({ length: count - 1 }, () => 0).join(',')}]`);

test('a text counts as its bytes or as its values, whichever is more, and the contents of strings are not values', () => {
  const memory = new BodyMemory({ valueBytes: 10 });
  expect(memory.parsedBytes(bytes(500))).toBe(500);
  expect(memory.parsedBytes(values(500))).toBe(5_000);
  expect(memory.parsedBytes(values(500), { most: 100 })).toBe(1_000);
  expect(memory.parsedBytes(Buffer.from('a=1&b=2&c'.repeat(10)), { type: 'Application/x-www-form-urlencoded; charset=utf-8' })).toBe(210);
  expect(memory.parsedBytes(Buffer.from('{"a,[{\\",[":{"b":"]é,"}}'))).toBe(30);
});

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

function start() {
  const memory = new BodyMemory({ bytes: 1_000, valueBytes: 1, waitMs: 5_000 });
  const events: string[] = [];
  const give = new Map<string, () => void>();
  const hold = (caller: string, name: string, size: number, signal?: AbortSignal): void => {
    void memory.hold(caller, bytes(size), signal === undefined ? {} : { signal }).then(
      (giveBack) => {
        give.set(name, giveBack);
        events.push(name);
      },
      (error: unknown) => events.push(error instanceof MemoryIsFull ? `no memory for ${name}` : String(error)),
    );
  };
  const end = (name: string): void => give.get(name)?.();
  const turns = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
  return { memory, events, hold, end, turns };
}

test('pending texts start as others end, callers in turn, and a release that is repeated counts once', async () => {
  const { events, hold, end, turns, memory } = start();
  hold('flood', 'f1', 500);
  for (const name of ['f2', 'f3']) hold('flood', name, 450);
  await turns();
  hold('honest', 'h1', 250);
  hold('honest', 'h2', 250);
  await turns();
  expect(events).toEqual(['f1', 'h1']);
  end('f1');
  end('f1');
  await turns();
  // The flooding caller had its turn.
  expect(events.slice(2)).toEqual(['h2']);
  for (const name of ['h1', 'h2']) end(name);
  for (const name of ['f2', 'f3']) {
    await turns();
    expect(events.at(-1)).toBe(name);
    end(name);
  }
  expect([memory.take('other', 500), vi.getTimerCount()]).toEqual([true, 0]);
});

test('a text larger than the budget starts while almost nothing else is held', async () => {
  const { events, hold, end, turns } = start();
  hold('a', 'small', 125);
  hold('b', 'large', 2_000);
  await turns();
  expect(events).toEqual(['small', 'large']);
  hold('c', 'more', 10);
  hold('d', 'large too', 900);
  await turns();
  expect(events).toEqual(['small', 'large']);
  end('large');
  await turns();
  expect(events).toEqual(['small', 'large', 'more']);
  end('small');
  await turns();
  expect(events).toEqual(['small', 'large', 'more', 'large too']);
});

test('a text that gets no budget in time, or is cancelled, stops waiting and uses nothing', async () => {
  const { events, hold, end, turns, memory } = start();
  const leaving = new AbortController();
  hold('a', 'first', 900);
  await turns();
  hold('b', 'late', 300);
  hold('c', 'left', 300, leaving.signal);
  hold('c', 'gone', 300, AbortSignal.abort());
  leaving.abort();
  await turns();
  expect(events).toEqual(['first', 'no memory for gone', 'no memory for left']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(events.at(-1)).toBe('no memory for late');
  end('first');
  expect([memory.take('b', 500), vi.getTimerCount()]).toEqual([true, 0]);
});

test('a caller that has used its share with unanswered requests still gets the answers, one after the other', async () => {
  const { events, hold, end, turns, memory } = start();
  expect([memory.take('a', 250), memory.take('a', 250), memory.take('a', 1)]).toEqual([true, true, false]);
  hold('a', 'first answer', 400);
  hold('a', 'second answer', 400);
  await turns();
  expect(events).toEqual(['first answer']);
  end('first answer');
  await turns();
  expect(events).toEqual(['first answer', 'second answer']);
  end('second answer');
  memory.give('a', 500);
  expect([memory.take('b', 500), vi.getTimerCount()]).toEqual([true, 0]);
});

test('a text that waits behind a cancelled one starts at once', async () => {
  const { events, hold, turns, memory } = start();
  const leaving = new AbortController();
  expect(memory.take('a', 400)).toBe(true);
  hold('b', 'large', 900, leaving.signal);
  hold('b', 'small', 100);
  await turns();
  expect(events).toEqual([]);
  leaving.abort();
  await turns();
  expect(events).toEqual(['no memory for large', 'small']);
});

test('pending texts have a separate budget, twice as large, and a text that exceeds it is rejected at once', async () => {
  const { events, hold, turns, memory } = start();
  expect(memory.take('other', 400)).toBe(true);
  for (const name of ['a1', 'a2', 'a3']) hold('a', name, 400);
  hold('b', 'b1', 400);
  await turns();
  expect(events).toEqual(['no memory for a3']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(events.slice(1)).toEqual(['no memory for a1', 'no memory for a2', 'no memory for b1']);
  for (const name of ['c1', 'c2']) hold('c', name, 400);
  await turns();
  expect([events.length, vi.getTimerCount()]).toEqual([4, 2]);
});

test('bodies that wait for more budget are not overtaken by the same caller, and messages come before them', async () => {
  const { events, hold, end, turns, memory } = start();
  const { signal } = new AbortController();
  expect([memory.take('a', 100), memory.take('a', 100), memory.take('a', 100)]).toEqual([true, true, true]);
  hold('b', 'first', 300);
  await turns();
  const more = memory.waitForMore('a', 100, { held: 100, signal });
  expect(memory.takeMore('a', 10, 100)).toBe(false);
  hold('b', 'second', 300);
  await turns();
  expect(events).toEqual(['first']);
  end('first');
  await turns();
  expect(events).toEqual(['first', 'second']);
  end('second');
  expect(await more).toBe(true);
  memory.give('a', 400);
  expect([memory.take('b', 500), vi.getTimerCount()]).toEqual([true, 0]);
});

test('a body that gets no budget in time stops waiting and uses nothing', async () => {
  const { turns, memory } = start();
  const leaving = new AbortController();
  expect([memory.take('a', 500), memory.take('b', 250)]).toEqual([true, true]);
  const late = memory.waitForMore('a', 400, { held: 500, signal: leaving.signal });
  await vi.advanceTimersByTimeAsync(500);
  expect(await late).toBe(false);
  const left = memory.waitForMore('a', 400, { held: 500, signal: leaving.signal });
  leaving.abort();
  expect([await left, await memory.waitForMore('a', 1, { held: 500, signal: leaving.signal })]).toEqual([false, false]);
  memory.give('a', 500);
  await turns();
  expect([memory.take('a', 375), memory.take('a', 1), vi.getTimerCount()]).toEqual([true, false, 0]);
});

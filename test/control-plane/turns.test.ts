// Small parts that bound what a process uses, each tested alone.
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { Outage } from '../../cli/failure.ts';
import { linesOf } from '../../cli/api/streams.ts';
import { listModels } from '../../control-plane/agents/rules/models.ts';
import { createRateLimit } from '../../control-plane/base/rate-limit.ts';
import { createSeats, inTurns } from '../../control-plane/base/turns.ts';
import { inWriteTurn } from '../../control-plane/database/write-turns.ts';
import { watchHeads } from '../../control-plane/audit/store/watch-heads.ts';
import { undoAll } from '../../control-plane/base/undo.ts';

test('turns: when the queue is full the next one is refused, and pending ones have their turn', async () => {
  let go = (): void => {};
  const held = new Promise<void>((done) => (go = done));
  const run = inTurns(1, (n: number) => held.then(() => n), { waitingMax: 1, full: () => new Error('full') });
  const [first, second] = [run(1), run(2)];
  await expect(run(3)).rejects.toThrow('full');
  go();
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  expect(await run(4)).toBe(4);
});

describe('writes of a workspace', () => {
  /** A pool that never connects. The writes of these tests make no queries. */
  const createTurns = () => {
    const pool = new pg.Pool();
    return (workspaceId: number, write: () => Promise<unknown>) => inWriteTurn(pool, workspaceId, write);
  };
  const held = () => {
    let pass = (): void => {};
    let fail: (reason: Error) => void = () => {};
    const done = new Promise<void>((resolve, reject) => ([pass, fail] = [resolve, reject]));
    return { write: () => done, pass, fail };
  };
  const databaseError = (code: string): Error => Object.assign(new pg.DatabaseError('', 0, 'error'), { code });

  test('run one after the other, in order of arrival; those of another workspace do not wait', async () => {
    const write = createTurns();
    const begun: string[] = [];
    const [first, second] = [held(), held()];
    const note = (name: string, run: () => Promise<unknown>) => () => {
      begun.push(name);
      return run();
    };
    const all = [
      write(1, note('first', first.write)),
      write(1, note('second', second.write)),
      write(
        1,
        note('third', async () => {}),
      ),
    ];
    await write(
      2,
      note('elsewhere', async () => {}),
    );
    expect(begun).toEqual(['first', 'elsewhere']);
    first.pass();
    await all[0];
    second.pass();
    await Promise.all(all);
    expect(begun).toEqual(['first', 'elsewhere', 'second', 'third']);
  });

  test('at most 200 wait, and the next one is refused', async () => {
    const write = createTurns();
    const first = held();
    const taken = Array.from({ length: 201 }, () => write(1, first.write));
    await expect(write(1, first.write)).rejects.toMatchObject({
      code: 'unavailable',
      publicMessage: expect.stringContaining('200 writes'),
    });
    first.pass();
    await Promise.all(taken);
  });

  test.each([
    ['a lock that stays locked', databaseError('55P03')],
    ['a server that ends', databaseError('57P01')],
    ['a server that does not answer', new Error('Query read timeout')],
  ])('fail together where one fails by %s, and the next one is tried', async (_, reason) => {
    const write = createTurns();
    const first = held();
    let begun = 0;
    const running = write(1, first.write);
    const waiting = Array.from({ length: 5 }, () => write(1, async () => void (begun += 1)));
    first.fail(reason);
    for (const one of [running, ...waiting]) await expect(one).rejects.toBe(reason);
    expect(begun).toBe(0);
    expect(await write(1, async () => 'written')).toBe('written');
  });

  test('do not fail where one fails by itself', async () => {
    const write = createTurns();
    const first = held();
    const [failing, next] = [write(1, first.write), write(1, async () => 'written')];
    first.fail(databaseError('40P01'));
    await expect(failing).rejects.toMatchObject({ code: '40P01' });
    expect(await next).toBe('written');
  });
});

test('seats: a maximum for each key and in total; one that leaves twice frees one seat', () => {
  const seats = createSeats<string>({ each: 2, all: 3 });
  const [a] = [seats.take('a'), seats.take('a')];
  expect(seats.take('a')).toEqual({ taken: 'by the key' });
  expect(seats.take('b')).toHaveProperty('leave');
  expect(seats.take('b')).toEqual({ taken: 'by all' });
  if (!('leave' in a)) throw new Error('no seat');
  a.leave();
  a.leave();
  expect(seats.take('b')).toHaveProperty('leave');
  expect(seats.take('c')).toEqual({ taken: 'by all' });
});

test('a rate limit forgets the key that was silent longest when there are too many', () => {
  const limit = createRateLimit(() => new Date(0), 1, 'of a test', 2);
  for (const key of ['a', 'b', 'c']) limit.take(key);
  expect(() => limit.take('c')).toThrow('at most 1 of a test');
  expect(() => limit.take('b')).toThrow('at most 1 of a test');
  limit.take('a');
});

test('a stop executes every step, the last first, whatever fails', async () => {
  const taken: string[] = [];
  const failed: string[] = [];
  const log = { error: (fields: object) => void failed.push(JSON.stringify(fields)) };
  const steps = [
    () => void taken.push('first'),
    () => {
      throw new Error('second failed');
    },
    async () => {
      taken.push('third');
      throw new Error('third failed');
    },
  ];
  await undoAll(steps, log);
  expect(taken).toEqual(['third', 'first']);
  expect(failed).toEqual([expect.stringContaining('third failed'), expect.stringContaining('second failed')]);
});

test('a closed watch of heads notifies pending callers, and later ones, immediately', async () => {
  const heads = watchHeads({ query: () => Promise.reject(new Error('asked')) }, 1);
  const { signal } = new AbortController();
  const waiting = heads.waitBeyond({ workspaceId: 1, ingest: 0 }, 60_000, signal);
  heads.close();
  expect(await waiting).toBeNull();
  expect(await heads.waitBeyond({ workspaceId: 1, ingest: 0 }, 60_000, signal)).toBeNull();
});

test('the list of models is built once for as long as the prices are valid', () => {
  const models = listModels(new Date('2026-06-25T12:00:00Z'));
  expect(listModels(new Date('2026-06-25T12:29:59Z'))).toBe(models);
  expect(listModels(new Date('2026-06-25T12:30:00Z'))).not.toBe(models);
});

test('an answer that ends in the middle of a line is an outage, so that its reader continues', async () => {
  async function* pieces() {
    yield 'whole\nhal';
  }
  const seen: string[] = [];
  const read = async (): Promise<void> => {
    for await (const line of linesOf(pieces())) seen.push(line);
  };
  await expect(read()).rejects.toBeInstanceOf(Outage);
  expect(seen).toEqual(['whole']);
});

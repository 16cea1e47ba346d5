// The cost of runs on a real PostgreSQL, reserved and settled by two control planes at once.

import { once } from 'node:events';
import fc from 'fast-check';
import { Pool } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { recordEnd } from '../../control-plane/runs/operations/books/record-end.ts';
import { createRunBooks } from '../../control-plane/runs/operations/books/run-books.ts';
import { endAbandonedRuns } from '../../control-plane/runs/operations/liveness/end-abandoned-runs.ts';
import { createProgress } from '../../control-plane/runs/operations/books/progress.ts';
import { requireDay } from '../../control-plane/runs/operations/books/require-day.ts';
import { reserve } from '../../control-plane/runs/operations/books/reserve.ts';
import type { MoneyReservation } from '../../control-plane/runs/money.ts';
import type { RunRef } from '../../control-plane/runs/rules/run.ts';
import { beat } from '../../control-plane/runs/store/run-instances.ts';
import { type Books, cent, completed, createBooks } from '../support/run-books.ts';
import { silentLog } from '../support/silent-log.ts';
import { exitOf, startSource } from '../support/source-process.ts';

let books: Books;
beforeEach(async () => {
  books = await createBooks();
});
afterEach(() => books.close());

type Granted = Extract<MoneyReservation, { kind: 'granted' }>;

async function granted(answer: Promise<MoneyReservation>): Promise<Granted> {
  const reserved = await answer;
  if (reserved.kind !== 'granted') throw new Error(`not granted: ${JSON.stringify(reserved)}`);
  return reserved;
}

/** The reserved sums of runs and days equal the reservations. */
async function expectSums(): Promise<void> {
  const { rows } = await books.pool.query(`
    select 'day' as of, sub as name, reserved, (select coalesce(sum(amount), 0) from spend_reservation one
      where one.sub = spend.sub and one.day = spend.day and one.workspace_id = spend.workspace_id) as open from spend
    union all
    select 'run', id, reserved, (select coalesce(sum(amount), 0) from spend_reservation one join run below on below.id = one.run_id
      where run.id = any(below.lineage)) from run`);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toMatchObject({ reserved: String(row.open) });
}

/** Starts the work while another session holds the user's day, and releases it once this many wait for it. */
async function whileDayIsHeld(
  waiting: number,
  work: () => readonly Promise<unknown>[],
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<void> {
  const holder = await books.pool.connect();
  try {
    await holder.query('begin');
    await holder.query("select 1 from spend where sub = 'ann' for update");
    const works = work();
    for (let found = 0; found < waiting; ) {
      // By another connection: within a transaction the view does not change.
      const { rows } = await books.pool.query<{ found: number }>(
        "select count(*)::int as found from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      found = rows[0]?.found ?? 0;
    }
    await meanwhile();
    await holder.query('commit');
    await Promise.all(works);
  } finally {
    holder.release();
  }
}

describe('the cap of a day', () => {
  test('is never exceeded by 20 runs of one user on two control planes, and is used up to the last call that fits', async () => {
    const cap = 10 * cent;
    const least = cent / 10;
    let outstanding = 0;
    let highest = 0;
    const draws = fc.sample(fc.record({ most: fc.integer({ min: least, max: 3 * cent }), share: fc.integer({ min: 0, max: 120 }) }), {
      seed: 7,
      numRuns: 20 * 40,
    });
    const spend = async (n: number): Promise<string> => {
      const plane = n % 2 === 0 ? books.one : books.two;
      const run = await books.begin({}, plane);
      for (let turn = 0; ; turn += 1) {
        const draw = draws[n * 40 + (turn % 40)];
        if (draw === undefined) throw new Error('drawn too little');
        const answer = await plane.money.reserve(run, { least, most: draw.most });
        if (answer.kind !== 'granted') return answer.kind === 'exhausted' ? answer.bound : answer.kind;
        expect(answer.amount).toBeGreaterThanOrEqual(least);
        expect(answer.amount).toBeLessThanOrEqual(draw.most);
        outstanding += answer.amount;
        highest = Math.max(highest, outstanding);
        // Where a provider bills more than the maximum, at most the reserved amount is charged.
        const cost = Math.floor((answer.amount * draw.share) / 100);
        outstanding -= answer.amount - Math.min(cost, answer.amount);
        await plane.money.settle(run, answer.reservationId, cost);
      }
    };
    const ends = await Promise.all(Array.from({ length: 20 }, (_, n) => spend(n)));
    expect(new Set(ends)).toEqual(new Set(['day']));
    const { settled, reserved } = await books.day();
    expect(reserved).toBe(0);
    expect(settled).toBe(outstanding);
    expect(highest).toBeLessThanOrEqual(cap);
    expect(settled).toBeLessThanOrEqual(cap);
    expect(settled).toBeGreaterThan(cap - 3 * cent);
    await expectSums();
  });

  test('is separate for each user and each workspace', async () => {
    await granted(books.one.money.reserve(await books.begin(), { least: 10 * cent, most: 10 * cent }));
    const wanted = { least: 10 * cent, most: 10 * cent };
    expect(await books.one.money.reserve(await books.begin(), wanted)).toEqual({ kind: 'exhausted', bound: 'day' });
    expect(await books.one.money.reserve(await books.begin({ sub: 'bob' }), wanted)).toMatchObject({ amount: 10 * cent });
    const elsewhere = await books.begin({ workspaceId: books.otherWorkspaceId });
    expect(await books.one.money.reserve(elsewhere, wanted)).toMatchObject({ amount: 10 * cent });
  });

  test('starts again at midnight UTC; an earlier reservation is settled on the day of the reservation', async () => {
    books.clock.now = new Date('2026-06-25T23:59:59.999Z');
    const run = await books.begin();
    const late = await granted(books.one.money.reserve(run, { least: 10 * cent, most: 10 * cent }));
    books.clock.now = new Date('2026-06-26T00:00:00.000Z');
    const early = await granted(books.one.money.reserve(run, { least: 10 * cent, most: 10 * cent }));
    await books.one.money.settle(run, late.reservationId, 7 * cent);
    await books.one.money.settle(run, early.reservationId, 2 * cent);
    expect(await books.day('ann', '2026-06-25')).toEqual({ settled: 7 * cent, reserved: 0 });
    expect(await books.day('ann', '2026-06-26')).toEqual({ settled: 2 * cent, reserved: 0 });
    expect(await books.row(run)).toMatchObject({ spent: 9 * cent, reserved: 0 });
  });

  test('refuses a run once it is spent, with the time until midnight, but not for reserved amounts', async () => {
    const caller = { workspaceId: books.workspaceId, sub: 'ann' };
    const run = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(run, { least: 10 * cent, most: 10 * cent }));
    await expect(requireDay(books.deps, caller, 1)).resolves.toBeUndefined();
    await books.one.money.settle(run, reservationId, 10 * cent);
    await expect(requireDay(books.deps, caller, 1)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 43_200 });
    await expect(requireDay(books.deps, caller, 0)).resolves.toBeUndefined();
    await expect(requireDay(books.deps, { ...caller, sub: 'bob' }, 1)).resolves.toBeUndefined();
    books.clock.now = new Date('2026-06-26T00:00:00.000Z');
    await expect(requireDay(books.deps, caller, 1)).resolves.toBeUndefined();
  });
});

test('a day with less left than a call needs refuses a run, and one with just that does not', async () => {
  const caller = { workspaceId: books.workspaceId, sub: 'ann' };
  const run = await books.begin();
  const { reservationId } = await granted(books.one.money.reserve(run, { least: 9 * cent, most: 9 * cent }));
  await books.one.money.settle(run, reservationId, 9 * cent);
  await expect(requireDay(books.deps, caller, cent)).resolves.toBeUndefined();
  await expect(requireDay(books.deps, caller, cent + 1)).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 43_200 });
});

describe('a run that is alone', () => {
  test('may use all that is left of the day, and below another run all that this one has left', async () => {
    const { money } = books.one;
    const everything = { least: 1, enough: 20 * cent, most: 100 * cent };
    const run = await books.begin();
    const own = await granted(money.reserve(run, { least: 1, most: 3 * cent }));
    await money.settle(run, own.reservationId, 3 * cent);
    const rest = await granted(money.reserve(run, everything));
    expect(rest).toMatchObject({ amount: 7 * cent, shared: false });
    await money.settle(run, rest.reservationId, 0);
    const root = await books.begin({ budget: 5 * cent });
    const child = await books.begin({ budget: 100 * cent, parentRunId: root.id });
    expect(await granted(money.reserve(child, everything))).toMatchObject({ amount: 5 * cent, shared: false });
    await expectSums();
  });

  test('is one that waited until the others returned what they had not spent; one that can wait no longer is refused as a share', async () => {
    const holder = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(holder, { least: 6 * cent, most: 6 * cent }));
    const wanted = { least: cent, enough: 4 * cent, most: 20 * cent };
    const hurried = await books.begin();
    const share = await granted(books.one.money.reserve(hurried, wanted));
    expect(share).toMatchObject({ amount: 2 * cent, shared: true });
    await books.one.money.settle(hurried, share.reservationId, 0);
    const waiting = createRunBooks(books.deps, 'plane-0').money.reserve(await books.begin(), wanted);
    await books.two.money.settle(holder, reservationId, cent);
    expect(await granted(waiting)).toMatchObject({ amount: 9 * cent, shared: false });
  });

  test('is each of twelve at the end: none of them is cut short while something is left', async () => {
    const plane = createRunBooks(books.deps, 'plane-0');
    const spend = async (): Promise<Granted> => {
      const run = await books.begin();
      const answer = await granted(plane.money.reserve(run, { least: cent / 10, enough: 2 * cent, most: 5 * cent }));
      await plane.money.settle(run, answer.reservationId, cent / 2);
      return answer;
    };
    const answers = await Promise.all(Array.from({ length: 12 }, () => spend()));
    for (const { amount } of answers) expect(amount).toBeGreaterThanOrEqual(2 * cent);
    expect(await books.day()).toEqual({ settled: 6 * cent, reserved: 0 });
  });
});

test('of several users, with runs and runs below them at once on two control planes, none exceeds its day or its budget', async () => {
  const cap = 10 * cent;
  const budget = 4 * cent;
  const spend = async (run: RunRef, n: number): Promise<void> => {
    const plane = n % 2 === 0 ? books.one : books.two;
    for (let turn = 0; turn < 6; turn += 1) {
      const answer = await plane.money.reserve(run, { least: cent / 10, enough: cent / 2, most: (1 + (n % 3)) * cent });
      if (answer.kind !== 'granted') return;
      await plane.money.settle(run, answer.reservationId, ((n + turn) % 4) * cent);
    }
  };
  const users = ['ann', 'bob', 'eve'];
  const roots = await Promise.all(users.flatMap((sub) => Array.from({ length: 4 }, () => books.begin({ sub, budget }))));
  await Promise.all(
    roots.map(async (root, n) => {
      const children = await Promise.all([1, 2].map(() => books.begin({ parentRunId: root.id, budget: 3 * cent })));
      await Promise.all([root, ...children].map((run, at) => spend(run, n + at)));
    }),
  );
  for (const sub of users) {
    const { settled, reserved } = await books.day(sub);
    expect(reserved).toBe(0);
    expect(settled).toBeGreaterThan(cap / 2);
    expect(settled).toBeLessThanOrEqual(cap);
  }
  for (const root of roots) expect((await books.row(root))?.spent).toBeLessThanOrEqual(budget);
  await expectSums();
});

describe('a budget', () => {
  test('of a cent is never exceeded by 20 calls at once, on two control planes', async () => {
    const run = await books.begin({ budget: cent });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? books.one : books.two).money.reserve(run, { least: cent / 8, most: cent / 8 })),
    );
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(8);
    expect(answers.filter(({ kind }) => kind === 'exhausted')).toEqual(
      Array.from({ length: 12 }, () => ({ kind: 'exhausted', bound: 'run' })),
    );
    expect(await books.row(run)).toMatchObject({ reserved: cent, spent: 0 });
  });

  test('is also not exceeded by calls of two days at once, when the clocks of two control planes differ around midnight', async () => {
    const run = await books.begin({ budget: cent });
    const tomorrow = { ...books.deps, pool: books.two.pool, clock: () => new Date('2026-06-26T00:00:00.000Z') };
    const ahead = createRunBooks(tomorrow, 'plane-1', { busyMs: 0 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? books.one : ahead).money.reserve(run, { least: cent / 16, most: cent / 16 })),
    );
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(16);
    expect(await books.row(run)).toMatchObject({ reserved: cent });
    await expectSums();
  });

  test('of a run pays for all runs below it: none of them gets more than every run above it has left', async () => {
    const root = await books.begin({ budget: 5 * cent });
    const child = await books.begin({ budget: 4 * cent, parentRunId: root.id, sub: 'agent:child' });
    const grandchild = await books.begin({ budget: 100 * cent, parentRunId: child.id, sub: 'agent:grandchild' });
    const { money } = books.one;
    const everything = { least: 1, most: 100 * cent };
    const own = await granted(money.reserve(root, { least: 2 * cent, most: 2 * cent }));
    const below = await granted(money.reserve(grandchild, { least: 3 * cent, most: 100 * cent }));
    expect(below.amount).toBe(3 * cent);
    expect(await money.reserve(child, everything)).toEqual({ kind: 'exhausted', bound: 'ancestor' });
    expect(await money.reserve(root, everything)).toEqual({ kind: 'exhausted', bound: 'run' });
    await money.settle(root, own.reservationId, 0);
    expect(await granted(money.reserve(child, { least: cent, most: 2 * cent }))).toMatchObject({ amount: cent });
    await money.settle(grandchild, below.reservationId, cent);
    expect(await books.row(root)).toMatchObject({ spent: cent, reserved: cent });
    expect(await books.row(child)).toMatchObject({ spent: cent, reserved: cent });
    expect(await books.row(grandchild)).toMatchObject({ spent: cent, reserved: 0 });
    expect(await books.day()).toEqual({ settled: cent, reserved: cent });
    await expectSums();
  });

  test('is never exceeded by a tree of runs that reserve, settle and end at once', async () => {
    const root = await books.begin({ budget: 3 * cent });
    const spend = async (run: RunRef, n: number): Promise<void> => {
      const plane = n % 2 === 0 ? books.one : books.two;
      for (let turn = 0; turn < 4; turn += 1) {
        const answer = await plane.money.reserve(run, { least: cent / 10, most: cent });
        if (answer.kind === 'granted' && (turn + n) % 3 !== 0) await plane.money.settle(run, answer.reservationId, cent / 4);
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const child = await books.begin({ parentRunId: root.id, budget: 2 * cent }, n % 2 === 0 ? books.one : books.two);
        await Promise.all([spend(child, n), spend(root, n)]);
        await books.one.records.end(child, completed);
      }),
    );
    await expectSums();
    const ended = await books.two.records.end(root, completed);
    expect(ended?.spent).toBeLessThanOrEqual(3 * cent);
    expect(await books.day()).toEqual({ settled: ended?.spent, reserved: 0 });
  });

  test('of 0 is enough for a free model, and for no other', async () => {
    const run = await books.begin({ budget: 0 });
    expect(await books.one.money.reserve(run, { least: 1, most: 5 })).toEqual({ kind: 'exhausted', bound: 'run' });
    const { amount, reservationId } = await granted(books.one.money.reserve(run, { least: 0, most: 0 }));
    expect(amount).toBe(0);
    await books.one.money.settle(run, reservationId, 0);
    expect(await books.row(run)).toMatchObject({ spent: 0, reserved: 0 });
  });
});

describe('a reservation', () => {
  test('is settled once, for at most what it holds', async () => {
    const run = await books.begin();
    const first = await granted(books.one.money.reserve(run, { least: 1, most: 4 * cent }));
    await books.one.money.settle(run, first.reservationId, 9 * cent);
    await books.two.money.settle(run, first.reservationId, 0);
    expect(await books.day()).toEqual({ settled: 4 * cent, reserved: 0 });
  });

  test('is settled once also by two that settle it at the same moment', async () => {
    const run = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(run, { least: 1, most: 4 * cent }));
    await whileDayIsHeld(2, () => [books.one.money.settle(run, reservationId, cent), books.two.money.settle(run, reservationId, cent)]);
    expect(await books.day()).toEqual({ settled: cent, reserved: 0 });
    expect(await books.row(run)).toMatchObject({ spent: cent, reserved: 0 });
  });

  test('whose confirmation was lost is found again, and not made twice', async () => {
    const run = await books.begin();
    const request = {
      run,
      owner: { sub: 'ann', lineage: [run.id] },
      generation: 0,
      reservationId: 'r'.repeat(20),
      wanted: { least: 1, most: 3 * cent },
    };
    const first = await reserve(books.deps, request);
    expect(await reserve(books.deps, request)).toEqual(first);
    expect(await books.day()).toEqual({ settled: 0, reserved: 3 * cent });
  });

  test('survives a database that is away for a moment', async () => {
    const run = await books.begin();
    let failures = 2;
    const flaky = new Proxy(books.pool, {
      get: (pool, name) => {
        if (name === 'connect' && failures > 0) {
          failures -= 1;
          return () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        }
        const value: unknown = Reflect.get(pool, name);
        return typeof value === 'function' ? value.bind(pool) : value;
      },
    });
    const { money } = createRunBooks({ ...books.deps, pool: flaky }, 'plane-0', { triesAfterMs: [1, 1] });
    await granted(money.reserve(run, { least: 1, most: cent }));
    failures = 3;
    await expect(money.reserve(run, { least: 1, most: cent })).rejects.toMatchObject({
      code: 'unavailable',
      cause: { code: 'ECONNREFUSED' },
    });
    expect(await books.day()).toEqual({ settled: 0, reserved: cent });
  });

  test('is not made for a run that has ended, or that does not exist', async () => {
    const root = await books.begin();
    const child = await books.begin({ parentRunId: root.id });
    const wanted = { least: 1, most: 5 };
    await books.one.records.end(root, completed);
    expect(await books.one.money.reserve(root, wanted)).toEqual({ kind: 'ended' });
    expect(await books.one.money.reserve(child, wanted)).toEqual({ kind: 'ended' });
    expect(await books.one.money.reserve({ ...root, workspaceId: books.otherWorkspaceId }, wanted)).toEqual({ kind: 'ended' });
    expect(await books.day()).toEqual({ settled: 0, reserved: 0 });
  });
});

describe('money that is only reserved', () => {
  const wanted = { least: 2 * cent, most: 2 * cent };

  test('ends no other run: one that needs it waits, and has it when it is returned', async () => {
    const holder = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(holder, { least: 9 * cent, most: 9 * cent }));
    const patient = createRunBooks(books.deps, 'plane-0');
    let answered = false;
    const waiting = patient.money.reserve(await books.begin(), wanted).finally(() => {
      answered = true;
    });
    expect(await books.one.money.reserve(await books.begin(), wanted)).toEqual({ kind: 'exhausted', bound: 'day' });
    expect(answered).toBe(false);
    await books.two.money.settle(holder, reservationId, cent);
    expect(await granted(waiting)).toMatchObject({ amount: 2 * cent });
    await expectSums();
  });

  test('is not waited for where what is missing has been spent', async () => {
    const run = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(run, { least: 9 * cent, most: 9 * cent }));
    await books.one.money.settle(run, reservationId, 9 * cent);
    expect(await createRunBooks(books.deps, 'plane-0').money.reserve(run, wanted)).toEqual({ kind: 'exhausted', bound: 'day' });
  });

  test('is waited for at most until the run’s deadline, and what arrives too late is returned', async () => {
    const holder = await books.begin();
    await granted(books.one.money.reserve(holder, { least: 9 * cent, most: 9 * cent }));
    const patient = createRunBooks(books.deps, 'plane-0');
    const stop = new AbortController();
    const waiting = patient.money.reserve(await books.begin(), wanted, stop.signal);
    stop.abort(new Error('over'));
    await expect(waiting).rejects.toThrow('over');

    const late = new AbortController();
    const run = await books.begin({ sub: 'bob' });
    const cut = patient.money.reserve(run, wanted, late.signal);
    late.abort(new Error('over'));
    await expect(cut).rejects.toThrow('over');
    await patient.close();
    expect(await books.day('bob')).toEqual({ settled: 0, reserved: 0 });
    await expectSums();
  });
});

/** A pool whose database is away until the test restores it; `tried` is called for each failed attempt. */
function awayPool(pool: Pool, tried: () => void) {
  const link = { away: false };
  const refused = () => {
    tried();
    return Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
  };
  const away = new Proxy(pool, {
    get: (target, name) => {
      if (link.away && (name === 'connect' || name === 'query')) return refused;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { link, away };
}

describe('a database that is away while a run ends', () => {
  test('receives the end after recovery, and the cost of each call, however many attempts that takes', async () => {
    let tries = 0;
    let enough = (): void => {};
    const many = new Promise<void>((resolve) => {
      enough = resolve;
    });
    const { link, away } = awayPool(books.pool, () => {
      tries += 1;
      if (tries === 20) enough();
    });
    const { money, records, holds } = createRunBooks({ ...books.deps, pool: away }, 'plane-0', { triesAfterMs: [1, 1] });
    const run = books.newRun();
    await records.begin(run);
    const { reservationId } = await granted(money.reserve(run, { least: 4 * cent, most: 4 * cent }));
    link.away = true;
    await money.settle(run, reservationId, cent);
    const ending = records.end(run, completed);
    await many;
    expect(holds(run)).toBe(true);
    link.away = false;
    expect(await ending).toEqual({ spent: cent });
    expect(holds(run)).toBe(false);
    expect(await books.day()).toEqual({ settled: cent, reserved: 0 });
  });

  test('receives the cost of a call while its run continues, so that others need not wait for its end', async () => {
    const { link, away } = awayPool(books.pool, () => {});
    const plane = createRunBooks({ ...books.deps, pool: away }, 'plane-0', { triesAfterMs: [1, 1] });
    const run = books.newRun();
    await plane.records.begin(run);
    const { reservationId } = await granted(plane.money.reserve(run, { least: 9 * cent, most: 9 * cent }));
    link.away = true;
    await plane.money.settle(run, reservationId, cent);
    link.away = false;
    expect(
      await granted(createRunBooks(books.deps, 'plane-0').money.reserve(await books.begin(), { least: 9 * cent, most: 9 * cent })),
    ).toMatchObject({ amount: 9 * cent });
    expect(await books.row(run)).toMatchObject({ status: 'running', spent: cent, reserved: 0 });
    await plane.close();
  });

  test('where this control plane ends before that, the next one fails the run, and charges the reserved amount once', async () => {
    const { link, away } = awayPool(books.pool, () => {});
    const dying = createRunBooks({ ...books.deps, pool: away }, 'plane-0', { triesAfterMs: [1, 1] });
    const run = books.newRun();
    await dying.records.begin(run);
    await granted(dying.money.reserve(run, { least: 4 * cent, most: 4 * cent }));
    link.away = true;
    const ending = dying.records.end(run, completed).catch((error: unknown) => error);
    await dying.close();
    expect(await ending).toMatchObject({ code: 'ECONNREFUSED' });
    expect(await books.row(run)).toMatchObject({ status: 'running' });
    link.away = false;
    await books.silence('plane-0', 60_000);
    const ended = await Promise.all([1, 2].map(() => endAbandonedRuns({ ...books.deps, log: silentLog })));
    expect(ended.toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(await books.row(run)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('ended unexpectedly'),
      spent: 4 * cent,
      reserved: 0,
    });
    expect(await books.day()).toEqual({ settled: 4 * cent, reserved: 0 });
  });

  test('that refuses the transcript accepts the end without it', async () => {
    const run = await books.begin();
    await books.pool.query('alter table run add check (length(transcript::text) < 100)');
    const transcript = [{ role: 'user', text: 'x'.repeat(200) }];
    expect(await books.one.records.end(run, { ...completed, transcript })).toEqual({ spent: 0 });
    const { rows } = await books.pool.query('select status, stop_reason, output, tool_calls, transcript from run where id = $1', [run.id]);
    expect(rows).toEqual([
      { status: 'completed', stop_reason: 'goal_complete', output: '', tool_calls: '1', transcript: [{ role: 'cut' }] },
    ]);
  });

  test('answers an end that was recorded without confirmation with the recorded end', async () => {
    const run = await books.begin();
    const at = books.clock.now;
    const ending = { run, owner: { sub: 'ann', lineage: [run.id] }, generation: 0, end: completed, costs: new Map<string, number>(), at };
    expect(await recordEnd(books.deps, ending)).toEqual({ spent: 0 });
    expect(await recordEnd(books.deps, ending)).toEqual({ spent: 0 });
    expect(await recordEnd(books.deps, { ...ending, at: new Date(at.getTime() + 1) })).toBeNull();
  });
});

test('a database that does not answer delays neither a reservation nor a settlement longer than the run lasts', async () => {
  const run = await books.begin();
  const silent = new Proxy(books.pool, { get: () => () => new Promise(() => undefined) });
  const { money } = createRunBooks({ ...books.deps, pool: silent }, 'plane-0');
  const stop = new AbortController();
  const waiting = [money.reserve(run, { least: 1, most: 2 }, stop.signal), money.settle(run, 'x', 1, stop.signal)];
  stop.abort(new Error('over'));
  expect(await Promise.allSettled(waiting)).toMatchObject([{ status: 'rejected', reason: stop.signal.reason }, { status: 'fulfilled' }]);
});

describe('a run that its own control plane does not hold', () => {
  test('is failed by it, with the reserved amount charged, although it lives; those it holds continue', async () => {
    const held = await books.begin();
    // As where the answer of the commit was lost.
    const nobodys = await books.begin();
    await granted(books.one.money.reserve(nobodys, { least: cent, most: cent }));
    const self = { instance: 'plane-0', holds: ({ id }: RunRef) => id === held.id, isSteady: () => true };
    expect(await endAbandonedRuns({ ...books.deps, log: silentLog }, { ...self, holds: books.one.holds })).toBe(0);
    expect(await endAbandonedRuns({ ...books.deps, log: silentLog }, { ...self, instance: 'plane-1' })).toBe(0);
    expect(await endAbandonedRuns({ ...books.deps, log: silentLog }, self)).toBe(1);
    expect(await books.row(nobodys)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('record'),
      spent: cent,
      reserved: 0,
    });
    expect(await books.row(held)).toMatchObject({ status: 'running' });
  });

  test('can also be one whose start failed', async () => {
    const { link, away } = awayPool(books.pool, () => {});
    const { records, holds } = createRunBooks({ ...books.deps, pool: away }, 'plane-0');
    const run = books.newRun();
    link.away = true;
    await expect(records.begin(run)).rejects.toThrow('ECONNREFUSED');
    expect(holds(run)).toBe(false);
  });
});

describe('a control plane that is killed between reserve and settle', () => {
  test('leaves a run that others fail once it is silent, and charge the reserved amount once', async () => {
    const child = startSource('reserve-and-hang.ts', JSON.stringify(books.connection), String(books.workspaceId));
    const [line] = await once(child.stdout, 'data');
    const [instance = '', id = '', amount] = String(line).trim().split(' ');
    expect(amount).toBe(String(4 * cent));
    child.kill('SIGKILL');
    await exitOf(child);
    const today = new Date().toISOString().slice(0, 10);
    const run = { workspaceId: books.workspaceId, id };

    const endAbandoned = () =>
      Promise.all([books.one, books.two].map(({ pool }) => endAbandonedRuns({ pool, clock: () => new Date(), log: silentLog })));
    expect(await endAbandoned()).toEqual([0, 0]);
    await books.silence(instance, 14_000);
    expect(await endAbandoned()).toEqual([0, 0]);
    expect(await books.row(run)).toMatchObject({ status: 'running', reserved: 4 * cent });

    await books.silence(instance, 15_001);
    const ended = await endAbandoned();
    expect(ended.toSorted((a, b) => a - b)).toEqual([0, 1]);
    expect(await books.row(run)).toEqual({
      status: 'failed',
      error: 'the control plane of the run ended unexpectedly',
      spent: 4 * cent,
      reserved: 0,
    });
    expect(await books.day('ann', today)).toEqual({ settled: 4 * cent, reserved: 0 });
    expect(await endAbandoned()).toEqual([0, 0]);
    await expectSums();
  });

  test('and was only slow, keeps its runs when its heartbeat returns before they are ended', async () => {
    const run = await books.begin();
    await granted(books.one.money.reserve(run, { least: 1, most: cent }));
    await books.silence('plane-0', 15_001);
    let ended: number | null = null;
    const endAbandoned = async () => {
      ended = await endAbandonedRuns({ ...books.deps, pool: books.two.pool, log: silentLog });
    };
    await whileDayIsHeld(
      1,
      () => [endAbandoned()],
      () => beat(books.pool, 'plane-0'),
    );
    expect(ended).toBe(0);
    expect(await books.row(run)).toMatchObject({ status: 'running', reserved: cent });
  });

  test('is distinguished from one that was silent because the database was away: one that was silent too ends no run', async () => {
    const run = await books.begin();
    await books.silence('plane-0', 60_000);
    const deps = { ...books.deps, pool: books.two.pool, log: silentLog };
    let steady = false;
    const other = { instance: 'plane-1', holds: books.two.holds, isSteady: () => steady };
    expect(await endAbandonedRuns(deps, other)).toBe(0);
    expect(await books.row(run)).toMatchObject({ status: 'running' });
    steady = true;
    expect(await endAbandonedRuns(deps, other)).toBe(1);
  });

  test('and was only frozen, can no longer reserve for the run, settle, or end it', async () => {
    const run = await books.begin();
    const { reservationId } = await granted(books.one.money.reserve(run, { least: 1, most: cent }));
    await books.silence('plane-0', 15_001);
    expect(await endAbandonedRuns({ ...books.deps, log: silentLog })).toBe(1);
    await books.one.money.settle(run, reservationId, 0);
    expect(await books.one.money.reserve(run, { least: 1, most: cent })).toEqual({ kind: 'ended' });
    expect(await books.one.records.end(run, completed)).toBeNull();
    expect(await books.row(run)).toMatchObject({ status: 'failed', spent: cent, reserved: 0 });
  });
});

describe('the progress of a run', () => {
  const at = (rounds: number) => ({
    rounds,
    toolCalls: 2 * rounds,
    promptTokens: 10 * rounds,
    completionTokens: rounds,
    transcript: [{ role: 'user', text: `round ${rounds}\0` }],
  });
  const written = async ({ id }: RunRef) =>
    (await books.pool.query('select rounds, tool_calls, prompt_tokens, completion_tokens, transcript from run where id = $1', [id]))
      .rows[0];

  test('is written while it continues, in order, the newest last, and not after its end', async () => {
    const run = await books.begin();
    const { note, settled } = createProgress(books.deps);
    for (const rounds of [1, 2, 3, 4]) note(run, 0, at(rounds));
    await settled();
    const transcript = [{ role: 'user', text: 'round 4\uFFFD' }];
    expect(await written(run)).toEqual({ rounds: '4', tool_calls: '8', prompt_tokens: '40', completion_tokens: '4', transcript });
    await books.one.records.end(run, completed);
    note(run, 0, at(9));
    await settled();
    expect(await written(run)).toMatchObject({ rounds: '1', tool_calls: '1' });
  });

  test('is the known state when its control plane dies; for one that died before, nothing is known', async () => {
    const [told, untold] = [await books.begin(), await books.begin()];
    const { note, settled } = createProgress(books.deps);
    note(told, 0, at(3));
    await settled();
    await books.silence('plane-0', 60_000);
    expect(await endAbandonedRuns({ ...books.deps, log: silentLog })).toBe(2);
    expect(await books.row(told)).toMatchObject({ status: 'failed' });
    const transcript = [{ role: 'user', text: 'round 3\uFFFD' }];
    expect(await written(told)).toEqual({ rounds: '3', tool_calls: '6', prompt_tokens: '30', completion_tokens: '3', transcript });
    expect(await written(untold)).toEqual({
      rounds: null,
      tool_calls: null,
      prompt_tokens: null,
      completion_tokens: null,
      transcript: null,
    });
  });

  test('is written by the next round where a database was away for one', async () => {
    const { link, away } = awayPool(books.pool, () => {});
    const run = await books.begin();
    const { note, settled } = createProgress({ pool: away });
    link.away = true;
    note(run, 0, at(1));
    await settled();
    link.away = false;
    expect(await written(run)).toMatchObject({ rounds: '0' });
    note(run, 0, at(2));
    await settled();
    expect(await written(run)).toMatchObject({ rounds: '2' });
  });
});

test('runs of one user that wait for their turn leave connections to all others', async () => {
  const pool = new Pool({ ...books.connection, max: 2 });
  const { money } = createRunBooks({ ...books.deps, pool }, 'plane-0');
  const run = await books.begin({ sub: 'eve' });
  const other = await books.pool.connect();
  try {
    await other.query('begin');
    await other.query("insert into spend (workspace_id, sub, day) values ($1, 'eve', '2026-06-25')", [books.workspaceId]);
    const asked = Array.from({ length: 20 }, () => money.reserve(run, { least: 1, most: 1 }));
    // More queries than runs that request a connection: the last queries queue behind all of these.
    for (let turn = 0; turn < 50; turn += 1) await pool.query('select 1');
    expect(pool.waitingCount).toBe(0);
    await other.query('commit');
    expect((await Promise.all(asked)).every(({ kind }) => kind === 'granted')).toBe(true);
  } finally {
    other.release();
    await pool.end();
  }
});

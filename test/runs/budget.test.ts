import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Account, grantOf, leftOf, spentOf } from '../../control-plane/runs/rules/budget.ts';
import { nextMidnightUtc, secondsToMidnightUtc, utcDayOf } from '../../control-plane/runs/rules/day.ts';
import { parseRunCursor, runCursorOf } from '../../control-plane/runs/rules/run.ts';

const amount = fc.nat(1_000);
const accounts: fc.Arbitrary<readonly Account[]> = fc.array(
  fc.record({ kind: fc.constantFrom('day' as const, 'ancestor' as const, 'run' as const), cap: amount, spent: amount, reserved: amount }),
  { minLength: 1, maxLength: 5 },
);

describe('a grant', () => {
  test('is what is wanted, at most what remains in any account, and at most half of a shared account if half is enough', () => {
    fc.assert(
      fc.property(accounts, amount, amount, amount, (all, least, more, extra) => {
        const most = least + more;
        const remains = Math.min(...all.map(leftOf));
        const enough = Math.min(most, least + extra);
        const grant = grantOf(all, { least, enough, most });
        if (least > 0 && remains < least) {
          expect(Object.keys(grant)).toEqual([all.some(({ cap, spent }) => cap - spent < least) ? 'exhausted' : 'busy']);
          return;
        }
        const shares = all.map((one) =>
          one.kind === 'run' || one.reserved === 0 ? leftOf(one) : Math.min(leftOf(one), Math.max(least, Math.floor(leftOf(one) / 2))),
        );
        const share = Math.max(0, Math.min(most, ...shares));
        const whole = Math.max(0, Math.min(most, ...all.map(({ cap, spent }) => cap - spent)));
        if (share < Math.min(enough, whole)) {
          expect(Object.keys(grant)).toEqual(['busy']);
          return;
        }
        expect(grant).toEqual({ amount: share, shared: share < whole });
        if ('amount' in grant && least > 0) expect(grant.amount).toBeGreaterThanOrEqual(least);
      }),
    );
  });

  test('is everything that is left where no other run has a reservation, and half of a shared account', () => {
    const account = (kind: Account['kind'], reserved = 0): Account => ({ kind, cap: 12, spent: 2, reserved });
    const wanted = { least: 1, most: 11 };
    for (const kind of ['run', 'ancestor', 'day'] as const) expect(grantOf([account(kind)], wanted)).toEqual({ amount: 10, shared: false });
    expect(grantOf([account('ancestor', 2), account('run')], wanted)).toEqual({ amount: 4, shared: true });
    expect(grantOf([account('day', 2), account('run')], { least: 5, most: 11 })).toEqual({ amount: 5, shared: true });
    expect(grantOf([account('run', 2)], wanted)).toEqual({ amount: 8, shared: true });
  });

  test('waits where it would not be enough and others may return money, and does not wait where none can', () => {
    const account = (cap: number, reserved = 0): Account => ({ kind: 'day', cap, spent: 0, reserved });
    const wanted = { least: 1, enough: 5, most: 9 };
    expect(grantOf([account(10, 4)], wanted)).toEqual({ busy: 'day' });
    expect(grantOf([account(3)], wanted)).toEqual({ amount: 3, shared: false });
    expect(grantOf([account(20, 10)], wanted)).toEqual({ amount: 5, shared: true });
  });

  test('distinguishes money that others have reserved from money that is spent', () => {
    const spent: Account = { kind: 'run', cap: 10, spent: 8, reserved: 0 };
    const reserved: Account = { kind: 'day', cap: 10, spent: 0, reserved: 8 };
    const wanted = { least: 5, most: 9 };
    expect(grantOf([reserved], wanted)).toEqual({ busy: 'day' });
    expect(grantOf([reserved, spent], wanted)).toEqual({ exhausted: 'run' });
  });

  test('that fails names the widest bound that has too little', () => {
    const account = (kind: Account['kind'], cap: number): Account => ({ kind, cap, spent: 0, reserved: 0 });
    const wanted = { least: 5, most: 9 };
    expect(grantOf([account('run', 4), account('ancestor', 4), account('day', 4)], wanted)).toEqual({ exhausted: 'day' });
    expect(grantOf([account('day', 5), account('ancestor', 4), account('run', 4)], wanted)).toEqual({ exhausted: 'ancestor' });
    expect(grantOf([account('day', 5), account('ancestor', 5), account('run', 4)], wanted)).toEqual({ exhausted: 'run' });
  });

  test('for a free call is nothing, even where nothing is left', () => {
    expect(grantOf([{ kind: 'run', cap: 0, spent: 0, reserved: 0 }], { least: 0, most: 0 })).toEqual({ amount: 0, shared: false });
    expect(grantOf([{ kind: 'day', cap: 1, spent: 2, reserved: 0 }], { least: 0, most: 0 })).toEqual({ amount: 0, shared: false });
  });
});

test('the amount spent from a reservation is at most its size, and never negative', () => {
  expect([spentOf(10, 4), spentOf(10, 11), spentOf(10, -1), spentOf(0, 3)]).toEqual([4, 10, 0, 0]);
});

describe('the day', () => {
  test.each([
    ['2026-06-25T00:00:00.000Z', 86_400, '2026-06-25'],
    ['2026-06-25T23:59:59.001Z', 1, '2026-06-25'],
    ['2026-06-25T12:00:00.500Z', 43_200, '2026-06-25'],
    ['2024-02-28T23:00:00.000Z', 3_600, '2024-02-28'],
  ])('at %s has %d seconds left', (instant, seconds, day) => {
    const now = new Date(instant);
    expect([secondsToMidnightUtc(now), utcDayOf(now)]).toEqual([seconds, day]);
  });

  test('changes for a caller exactly after the seconds that are left, and not before', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date('2020-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }), (now) => {
        const midnight = nextMidnightUtc(now);
        expect(utcDayOf(new Date(now.getTime() + secondsToMidnightUtc(now) * 1000))).toBe(utcDayOf(midnight));
        expect(utcDayOf(midnight)).not.toBe(utcDayOf(now));
        expect(utcDayOf(new Date(midnight.getTime() - 1))).toBe(utcDayOf(now));
      }),
    );
  });
});

test('a cursor leads back to its place, and any other text is rejected', () => {
  const place = { startedAt: new Date('2026-06-25T12:00:00.123Z'), id: 'abcDEF0123456789abcd' };
  expect(parseRunCursor(runCursorOf(place))).toEqual(place);
  for (const text of [
    '',
    'x',
    Buffer.from('999999999999999.a').toString('base64url'),
    Buffer.from('1.a b').toString('base64url'),
    Buffer.from('-1.a').toString('base64url'),
    '\0',
  ])
    expect(parseRunCursor(text)).toBeNull();
});

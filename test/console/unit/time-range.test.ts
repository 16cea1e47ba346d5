// The time that a search of the log covers.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lasts, rangeOf, widened } from '../../../console/audit/time-range.ts';

const now = Date.UTC(2026, 4, 6, 7, 8, 9);
const iso = (ms: number): string => new Date(ms).toISOString();
/** Within 200 years, so that a wider range can be written too. */
const instant = fc.integer({ min: -30 * 365 * 86_400_000, max: 60 * 365 * 86_400_000 });

describe('the time range of a search', () => {
  test('one hour up to now, if nothing or something unknown is asked for', () => {
    for (const last of [undefined, '', '2h', '__proto__'])
      expect(rangeOf(last === undefined ? {} : { last }, now)).toEqual({ since: iso(now - 3_600_000), until: null, last: '1h' });
  });

  test('each named length ends now', () => {
    fc.assert(
      fc.property(fc.constantFrom(...lasts), instant, ({ value, ms }, when) => {
        expect(rangeOf({ last: value }, when)).toEqual({ since: iso(when - ms), until: null, last: value });
      }),
    );
  });

  test('instants that are given are kept as they are, and win over a named length', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (since, until) => {
        expect(rangeOf({ since, until, last: '7d' }, now)).toEqual({ since, until, last: null });
      }),
    );
    expect(rangeOf({ since: iso(5) }, now)).toEqual({ since: iso(5), until: null, last: null });
  });

  test('an end alone has the hour before it; an end that cannot be read, the hour before now', () => {
    fc.assert(
      fc.property(instant, (end) => {
        expect(rangeOf({ until: iso(end) }, now)).toEqual({ since: iso(end - 3_600_000), until: iso(end), last: null });
      }),
    );
    expect(rangeOf({ until: 'yesterday' }, now)).toEqual({ since: iso(now - 3_600_000), until: 'yesterday', last: null });
  });
});

describe('a wider range', () => {
  test('contains the range, never ends after now, and is three times as long where now permits it', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 0, max: 400 * 86_400_000 }), (from, length) => {
        const wide = widened({ since: iso(from), until: iso(from + length), last: null }, now);
        expect(Date.parse(wide.since)).toBe(from - length);
        if (from + 2 * length >= now) expect(wide.until).toBeUndefined();
        else expect(wide.until).toBe(iso(from + 2 * length));
      }),
    );
  });

  test('of a range up to now, it begins earlier and is up to now', () => {
    expect(widened(rangeOf({ last: '1h' }, now), now)).toEqual({ since: iso(now - 2 * 3_600_000), until: undefined });
  });

  test('instants that cannot be read do not stop the page', () => {
    expect(widened({ since: 'yesterday', until: null, last: null }, now)).toEqual({ since: iso(now - 2 * 3_600_000), until: undefined });
    expect(widened({ since: iso(now - 7), until: 'tomorrow', last: null }, now)).toEqual({ since: iso(now - 14), until: undefined });
  });

  test('the farthest instants are not left', () => {
    expect(widened({ since: iso(-8.64e15), until: null, last: null }, now)).toEqual({ since: iso(-8.64e15), until: undefined });
  });
});

// Which entries were touched after which revision, compared with a log that forgets nothing.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TouchedEntry } from '../../control-plane/workspaces/rules.ts';
import { createChangeLog } from '../../control-plane/publish/change-log.ts';

const touchedAt = (revision: number): TouchedEntry => ({ revision, key: `agent/${revision}` });

test('of 100,000 touched entries at most 40,000 are stored, and for an older revision the log answers that it does not know', () => {
  const log = createChangeLog(0, []);
  for (let revision = 1; revision <= 40_000; revision++) log.add([touchedAt(revision)]);
  expect(log.keysAfter(0)?.size).toBe(40_000);
  log.add([touchedAt(40_001)]);
  expect(log.keysAfter(20_000)).toBeNull();
  expect(log.keysAfter(20_001)?.size).toBe(20_000);
  for (let revision = 40_002; revision <= 100_000; revision++) log.add([touchedAt(revision)]);
  expect(log.keysAfter(59_999)).toBeNull();
  expect(log.keysAfter(100_000)).toEqual(new Set());
});

test('what the log answers is correct, its size is bounded, and the latest entries are known', () => {
  const keysMax = 8;
  const steps = fc.array(fc.record({ raise: fc.integer({ min: 0, max: 2 }), key: fc.constantFrom('a', 'b', 'c', 'd') }), { maxLength: 60 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (all, together) => {
      const log = createChangeLog(0, [], keysMax);
      let revision = 1;
      const touched = all.map(({ raise, key }): TouchedEntry => ({ revision: (revision += raise), key }));
      for (let at = 0; at < touched.length; at += together) log.add(touched.slice(at, at + together));
      let known = 0;
      for (let since = 0; since <= revision; since++) {
        const after = touched.filter((one) => one.revision > since);
        const found = log.keysAfter(since);
        if (found === null) {
          expect(after.length).toBeGreaterThan(keysMax);
          continue;
        }
        expect(found).toEqual(new Set(after.map(({ key }) => key)));
        known = Math.max(known, after.length);
      }
      expect(known).toBeLessThanOrEqual(2 * keysMax);
    }),
  );
});

// Concurrent questions share a lookup, and no answer is older than its question.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSharedLookup } from '../../../control-plane/hooks/operations/shared-lookup.ts';

interface Begun {
  readonly question: string;
  /** The version when it began. */
  readonly version: number;
  readonly end: (failed: boolean) => void;
}

/** A source whose version only grows; each lookup ends when the test says so. */
function createSource() {
  const begun: Begun[] = [];
  const source = { version: 0, begun };
  const ask = createSharedLookup(
    (question) =>
      new Promise<number>((answer, refuse) => {
        const { version } = source;
        begun.push({ question, version, end: (failed) => (failed ? refuse(new Error('away')) : answer(version)) });
      }),
  );
  return { source, ask };
}

const settle = (): Promise<void> => new Promise((done) => void setImmediate(done));

test('of many concurrent questions one starts a lookup, and one more lookup serves all that came after it began', async () => {
  const { source, ask } = createSource();
  const first = ask('key');
  const later = Array.from({ length: 500 }, () => ask('key'));
  expect(source.begun).toHaveLength(1);
  source.version = 1;
  source.begun[0]?.end(false);
  expect(await first).toBe(0);
  await settle();
  expect(source.begun).toHaveLength(2);
  source.begun[1]?.end(false);
  expect(new Set(await Promise.all(later))).toEqual(new Set([1]));
});

test('an answer is never older than its question, for every caller and every failure; at most one lookup of a question runs at a time', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), question: fc.constantFrom('a', 'b') }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), failed: fc.boolean(), settles: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('change' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { source, ask } = createSource();
      const heard: Promise<void>[] = [];
      const open = new Set<Begun>();
      let seen = 0;
      const look = (): void => {
        for (const one of source.begun.slice(seen)) {
          expect([...open].some(({ question }) => question === one.question)).toBe(false);
          open.add(one);
        }
        seen = source.begun.length;
      };
      const endOne = (failed: boolean): void => {
        const [one] = open;
        if (one === undefined) return;
        open.delete(one);
        one.end(failed);
      };
      for (const each of steps) {
        if (each.do === 'change') source.version += 1;
        else if (each.do === 'ask') {
          const asked = source.version;
          heard.push(
            ask(each.question).then(
              (version) => expect(version).toBeGreaterThanOrEqual(asked),
              (error: unknown) => expect(String(error)).toContain('away'),
            ),
          );
        } else {
          endOne(each.failed);
          if (each.settles) await settle();
        }
        look();
      }
      // Every question is answered.
      for (let turn = 0; turn < 4; turn += 1) {
        while (open.size > 0) endOne(false);
        await settle();
        look();
      }
      expect(open.size).toBe(0);
      await Promise.all(heard);
    }),
  );
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildAnchors } from '../../../../sidecar/engine/redact/anchors.ts';

interface Visit {
  readonly detector: number;
  readonly at: number;
  readonly end: number;
}

function visits(of: readonly (readonly string[] | 'digits')[], text: string): readonly Visit[] {
  const seen: Visit[] = [];
  buildAnchors(of.map((anchors) => ({ anchors }))).scan(text, (detector, at, end) => seen.push({ detector, at, end }));
  return sorted(seen);
}

const sorted = (seen: readonly Visit[]): readonly Visit[] =>
  seen.toSorted((a, b) => a.at - b.at || a.end - b.end || a.detector - b.detector);

/** The obvious implementation, without regard for speed. */
function naive(of: readonly (readonly string[])[], text: string): readonly Visit[] {
  const lower = text.toLowerCase();
  return sorted(
    of.flatMap((anchors, detector) =>
      anchors.flatMap((anchor) =>
        Array.from({ length: text.length }, (_, at) => at)
          .filter((at) => lower.startsWith(anchor.toLowerCase(), at))
          .map((at) => ({ detector, at, end: at + anchor.length })),
      ),
    ),
  );
}

const word = fc.stringMatching(/^[abA:пж]{1,4}$/);
const anchorsOfDetectors = fc.array(fc.uniqueArray(word, { minLength: 1, maxLength: 4, selector: (text) => text.toLowerCase() }), {
  minLength: 1,
  maxLength: 5,
});

test('each anchor is visited wherever it occurs, in any case, also inside another', () => {
  fc.assert(
    fc.property(anchorsOfDetectors, fc.stringMatching(/^[abABc:пжЖ ]{0,40}$/), (of, text) => {
      expect(visits(of, text)).toEqual(naive(of, text));
    }),
  );
});

test('a run of digits is visited once, whole', () => {
  expect(visits(['digits', ['1-']], 'a12 3456-7x081-')).toEqual([
    { detector: 0, at: 1, end: 3 },
    { detector: 0, at: 4, end: 8 },
    { detector: 0, at: 9, end: 10 },
    { detector: 0, at: 11, end: 14 },
    { detector: 1, at: 13, end: 15 },
  ]);
});

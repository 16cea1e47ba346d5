// The chain has its own writer of canonical JSON, for speed. Digests of inputs and outputs use the contract's writer.
// Both write the same text.
import { canonicalJson } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalOf, writeTwice } from '../../proto/chain/canonical.ts';

test('both writers write the same text for every JSON value', () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const value: unknown = JSON.parse(json);
      expect(canonicalOf(value)).toBe(canonicalJson(value));
    }),
    { numRuns: 1_000 },
  );
});

test('writeTwice writes an object once with the stated fields, and once without the separate ones', () => {
  const said = { id: 'x', receivedAt: 'y', ts: 'z' };
  const stated = new Map(Object.entries(said).map(([key, value]) => [key, JSON.stringify(value)]));
  const apart = new Set([...stated.keys(), 'tool']);
  const fields = fc.dictionary(
    fc.string().filter((key) => key !== '__proto__' && !apart.has(key)),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(fields, (rest) => {
      const written = writeTwice({ ...rest, tool: 't', ts: 1 }, { stated, apart }, 128);
      expect(written).toEqual({ all: canonicalJson({ ...rest, tool: 't', ...said }), kept: canonicalJson(rest) });
    }),
    { numRuns: 500 },
  );
});

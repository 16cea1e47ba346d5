import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SmallMap } from '../../../../sidecar/doors/sessions/small-map.ts';

test('it answers as a Map does, whatever is set and deleted', () => {
  const key = fc.constantFrom('', 'a', 'b', 'c');
  const change = fc.oneof(fc.record({ set: key, value: fc.integer() }), fc.record({ delete: key }));
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const [map, wanted] = [new SmallMap<number>(), new Map<string, number>()];
      for (const each of changes) {
        if ('set' in each) {
          map.set(each.set, each.value);
          wanted.set(each.set, each.value);
        } else {
          map.delete(each.delete);
          wanted.delete(each.delete);
        }
        expect(map.entries()).toEqual([...wanted]);
        expect(map.size).toBe(wanted.size);
        expect(map.oldest).toBe(wanted.keys().next().value);
        for (const known of ['', 'a', 'b', 'c']) expect(map.get(known)).toBe(wanted.get(known));
      }
    }),
  );
});

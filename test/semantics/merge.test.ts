// Checks the merge update against the examples of RFC 7396, appendix A. `properties.test.ts` compares it with an
// independent reference over generated documents.
import { expect, test } from 'vitest';
import { mergePatch } from '../../control-plane/policies/rules/merge.ts';

test.each([
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
])('%s merged with %s is %s, and merging again changes nothing', (target, patch, result) => {
  const merged = mergePatch(JSON.parse(target), JSON.parse(patch));
  expect(merged).toEqual(JSON.parse(result));
  expect(mergePatch(merged, JSON.parse(patch))).toEqual(merged);
});

test('neither the target nor the patch changes, and the names of Object.prototype are valid keys', () => {
  const target: unknown = JSON.parse('{"a":{"b":1},"__proto__":{"x":1}}');
  const patch: unknown = JSON.parse('{"a":{"b":null,"c":2},"__proto__":{"y":2},"constructor":{"z":3}}');
  const [was, said] = [JSON.stringify(target), JSON.stringify(patch)];
  expect(JSON.stringify(mergePatch(target, patch))).toBe('{"a":{"c":2},"__proto__":{"x":1,"y":2},"constructor":{"z":3}}');
  expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual([was, said]);
});

// What is found in the JSON lines of an answer that does not end.
import { expect, test } from 'vitest';
import { jsonInText } from '../../../../sidecar/doors/http/json-in-text.ts';
import { createNumbers, type Redactor } from '../../../../sidecar/engine/redact/index.ts';
import { collectGarbage } from '../../../bench/garbage.ts';

test('of findings only the counts by kind are stored, however many lines they were found in', () => {
  let found = 0;
  const redactor: Pick<Redactor, 'redactJson'> = {
    redactJson: () => {
      found += 1;
      const kind = found % 3 === 0 ? 'phone' : 'email';
      return { text: '{}', findings: [{ kind, count: 2, path: `at.line.${found}`, digests: [`digest of line ${found}`] }] };
    },
  };
  const looked = jsonInText(redactor, createNumbers(), false);
  const piece = '{"a":1}\n'.repeat(1_000);
  looked.push(piece);
  const before = collectGarbage();
  for (let n = 1; n < 300; n += 1) looked.push(piece);
  // A fifth of what 300,000 findings use.
  expect(collectGarbage() - before).toBeLessThan(10_000_000);
  expect(looked.findings()).toEqual([
    { kind: 'email', count: 400_000 },
    { kind: 'phone', count: 200_000 },
  ]);
});

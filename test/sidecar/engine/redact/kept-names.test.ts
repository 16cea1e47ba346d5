// What is remembered of names after their payloads are gone.
import { expect, test } from 'vitest';
import { calledBy, meaningOf } from '../../../../sidecar/engine/redact/detectors/named/names.ts';
import { collectGarbage } from '../../../bench/garbage.ts';

test.each([
  ['what names mean', meaningOf, 'password_of_meaning'],
  ['what is called by them', calledBy, 'password_of_text'],
] as const)('the names of 300 payloads of 1 MB keep none of the payloads in memory: %s', (_of, remembers, name) => {
  const pad = ' '.repeat(1_000_000);
  const before = collectGarbage();
  // Cuts the name out of a payload, as readers of JSON and of text do.
  for (let n = 0; n < 300; n += 1) remembers(JSON.parse(`"${name}_${n}${pad}"`).slice(0, `${name}_${n}`.length));
  // A sixth of what the payloads use.
  expect(collectGarbage() - before).toBeLessThan(50_000_000);
});

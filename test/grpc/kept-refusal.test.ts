// What the control plane stores of a refusal while its sidecar is connected.
import { bounds } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { nackOf } from '../../control-plane/sidecars/rules/sidecar.ts';
import { collectGarbage } from '../bench/garbage.ts';

test('the texts of 100 refusals of 2 MB are stored as copies of their beginning, and keep none of the messages in memory', () => {
  const before = collectGarbage();
  const kept = Array.from({ length: 100 }, (_, n) => nackOf('internal', Buffer.alloc(2_000_000, `${n} `).toString(), new Date(0)));
  expect(collectGarbage() - before).toBeLessThan(20_000_000);
  expect(kept.map(({ message }) => message.length)).toEqual(kept.map(() => bounds.nackMessageLength));
});

test('characters that cannot be shown are replaced, also where the cut creates one', () => {
  const { message } = nackOf('internal', `a\u0000b${'x'.repeat(bounds.nackMessageLength - 4)}\u{1f600}`, new Date(0));
  expect(message).toBe(`a\uFFFDb${'x'.repeat(bounds.nackMessageLength - 4)}\uFFFD`);
});

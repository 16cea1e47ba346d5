// Copies of parts of texts, which keep nothing else in memory.
import { ownText } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';

test.each(['', 'password', 'пароль', 'a\u0000b', '\u{1f600}', '\ud800 alone', '\u00ff'.repeat(1_000)])(
  'a copy of %j is the same text',
  (text) => {
    expect(ownText(text)).toBe(text);
  },
);

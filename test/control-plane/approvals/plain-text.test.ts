// What an approver reads: nothing in it is invisible or changes the order in which it is shown.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeHidden, isPlainText, prettyJson } from '../../../control-plane/approvals/rules/plain-text.ts';

test('invisible and bidirectional characters are escaped, others stay', () => {
  expect(escapeHidden('a\u202eb\u2066c\u200bd\u00ade\ufefff')).toBe('a\\u202eb\\u2066c\\u200bd\\u00ade\\ufefff');
  expect(escapeHidden('tab\tnul\u0000esc\u001b[2J\r')).toBe('tab\\u0009nul\\u0000esc\\u001b[2J\\u000d');
  expect(escapeHidden('\u00a0\u3000\u2028\u2800\u3164\u{e0041}')).toBe('\\u00a0\\u3000\\u2028\\u2800\\u3164\\udb40\\udc41');
  expect(escapeHidden('Grüße, 안녕 👍 a\nb')).toBe('Grüße, 안녕 👍 a\nb');
});

test('what is shown is the same JSON, and nothing in it is invisible', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      const json = JSON.stringify(value);
      const shown = prettyJson(json);
      expect(JSON.stringify(JSON.parse(shown))).toBe(json);
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('texts that the database cannot store are found', () => {
  expect(['ok 👍', '', 'a\u0000', '\ud800', 'x\udfff'].map(isPlainText)).toEqual([true, true, false, false, false]);
});

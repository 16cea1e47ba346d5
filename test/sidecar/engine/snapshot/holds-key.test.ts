import { hashKey } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { holdsKey } from '../../../../sidecar/engine/snapshot/holds-key.ts';

const key = `gsk_acme_${'k'.repeat(40)}`;
const now = Date.parse('2026-06-25T12:00:00Z');
const entry = (name: string, value: unknown) => ({
  key: name,
  value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
});

test.each([
  ['this key', [entry('key/a', { hash: hashKey(key), expiresAt: null })], true],
  [
    'this key among others',
    [entry('key/b', { hash: 'f', expiresAt: null }), entry('key/a', { hash: hashKey(key), expiresAt: now + 1 })],
    true,
  ],
  ['this key, which has expired', [entry('key/a', { hash: hashKey(key), expiresAt: now })], false],
  ['keys of others', [entry('key/a', { hash: hashKey(`${key}x`), expiresAt: null })], false],
  ['this hash in what is no key', [entry('agent/a', { hash: hashKey(key), expiresAt: null })], false],
  ['what is no JSON', [entry('key/a', '{'), entry('key/b', 'null')], false],
  ['nothing', [], false],
])('policy on disk with %s', (_, entries, held) => {
  expect(holdsKey({ entries }, key, now)).toBe(held);
});

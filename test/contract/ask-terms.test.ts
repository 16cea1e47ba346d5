// The terms of a rule that asks, as they are read from a snapshot and from the question of a sidecar: exactly those that
// the compiler makes.
import { askBounds, askDefaults, readAskTerms } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { compileAsk } from '../../sidecar/engine/compile/ask.ts';

const least = { approvers: ['role:admin'], ...askDefaults };
const problemOf = (value: unknown): string | null => {
  const read = readAskTerms(value, 'ask');
  return 'problem' in read ? `${read.problem.path} ${read.problem.message}` : null;
};
const problemWith = (more: object): string | null => problemOf({ ...least, ...more });

test.each([
  ['no term set', {}],
  ['the preset', 'confirm'],
  [
    'every term',
    { approvers: ['user:ann|1@example.com', 'role:owner', 'subject'], need: 5, self: true, independent: true, via: 'session' },
  ],
  ['words and channels', { reason: 'r'.repeat(askBounds.reasonLength), channels: ['b', 'a'] }],
] as const)('what the compiler makes of %s is read unchanged', (_, ask) => {
  // A part can be stored for a subject that is no member.
  for (const author of [null, 'ann', 'apikey:service']) {
    const compiled = compileAsk({ permission: 'ask', ask }, author);
    expect(readAskTerms(JSON.parse(JSON.stringify(compiled)), '')).toEqual(compiled);
  }
});

test.each([
  ['ask must be an object', []],
  ['ask must be an object', null],
  ['ask.need must be an integer from 1 to 5', { approvers: ['subject'] }],
  ['ask.later is not a field of the terms', { ...least, later: 1 }],
  ['ask.__proto__ is not a field of the terms', JSON.parse(`{"__proto__": {}, ${JSON.stringify(least).slice(1)}`)],
])('%s', (problem, value) => {
  expect(problemOf(value)).toBe(problem);
});

test('numbers have the bounds of a document', () => {
  for (const name of ['need', 'waitSeconds', 'pendingSeconds', 'validSeconds', 'uses'] as const) {
    const { min, max } = askBounds[name];
    for (const right of [min, max]) expect(problemWith({ [name]: right })).toBeNull();
    for (const wrong of [min - 1, max + 1, min + 0.5, String(min), null])
      expect(problemWith({ [name]: wrong })).toBe(`ask.${name} must be an integer from ${min} to ${max}`);
  }
});

test('flags are true or absent, and the way to answer is a session or absent', () => {
  for (const name of ['self', 'independent']) expect(problemWith({ [name]: false })).toBe(`ask.${name} must be true or absent`);
  expect(problemWith({ via: 'mail' })).toBe('ask.via must be "session" or absent');
});

test('approvers are 1 to 20 persons and roles, each once', () => {
  const words = 'ask.approvers must be 1 to 20 of subject, role:<role> and user:<uid>, each once';
  const many = (count: number) => Array.from({ length: count }, (_, at) => `user:u${at}`);
  expect(problemWith({ approvers: many(20) })).toBeNull();
  for (const wrong of [[], many(21), ['user:a', 'user:a'], ['role:boss'], ['user:'], ['user:a:b'], ['user:jörg'], ['ann'], [1], 'subject'])
    expect(problemWith({ approvers: wrong })).toBe(words);
});

test('channels are 1 to 20 names, each once: an empty list would be a second form of the default channels, with another digest', () => {
  const words = 'ask.channels must be 1 to 20 names of channels, each once';
  expect(problemWith({ channels: ['a'] })).toBeNull();
  for (const wrong of [[], ['a', 'a'], ['No Name'], Array.from({ length: 21 }, (_, at) => `c${at}`), 'a', null])
    expect(problemWith({ channels: wrong })).toBe(words);
});

test('a reason is bounded, and nothing in it is invisible', () => {
  const words = 'ask.reason must be at most 300 characters, without control, format or unpaired surrogate characters';
  for (const wrong of ['r'.repeat(301), 'a\u202eb', 'a\nb', 'a\ud800', 1]) expect(problemWith({ reason: wrong })).toBe(words);
});

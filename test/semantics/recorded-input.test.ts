// How a recorded input is read for conditions: what an entry does not show is undecided.
import { expect, test } from 'vitest';
import { recordedFacts } from '../../control-plane/policies/evaluate/recorded-input.ts';
import { compileCondition } from '../../sidecar/engine/conditions/condition.ts';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import { readCondition } from '../../sidecar/engine/compile/condition.ts';

const at = Date.UTC(2026, 5, 25, 12);

function answerOf(when: string, fields: Readonly<Record<string, unknown>>): boolean | string {
  const read = readCondition(when);
  if ('problem' in read) throw new Error(read.problem.message);
  const { args } = recordedFacts(fields, at);
  const value = compileCondition(read.expression).evaluate({ variables: { args }, steps: 0, slots: [] });
  return value instanceof Undecided ? value.reason : value;
}

const mark = '[redacted:email#1]';

test.each<readonly [string, string, Readonly<Record<string, unknown>>, boolean | string, boolean]>([
  ['what is shown is decided', 'args.to == "bob"', { input: { to: 'bob' } }, true, false],
  ['a call without an input has no arguments', 'has(args.to)', { input: null }, false, false],
  ['a text with a mark', 'args.to == "bob"', { input: { to: mark } }, 'hidden', true],
  ['a text with a mark in it', 'args.text.startsWith("hi")', { input: { text: `hi ${mark}` } }, 'hidden', true],
  ['another field of the same input', 'args.n > 1', { input: { to: mark, n: 2 } }, true, true],
  ['what decides without the mark', 'args.to == "bob" || args.n > 1', { input: { to: mark, n: 2 } }, true, true],
  ['an element of a list', 'args.to.exists(one, one == "bob")', { input: { to: ['eve', mark] } }, 'hidden', true],
  ['an element that is found before', 'args.to.exists(one, one == "eve")', { input: { to: ['eve', mark] } }, true, true],
  ['an object with a redacted key', 'has(args.map.bob)', { input: { map: { [mark]: 1 } } }, 'hidden', true],
  ['a number in place of which a mark stands', 'args.card > 1', { input: { card: '[redacted:credit_card#1]' } }, 'hidden', true],
  ['an input that was cut', 'args.n > 1', { input: '{"n": 2', inputCut: true }, 'hidden', true],
  [
    'a body that the gateway did not show',
    'has(args.body.n)',
    { input: { method: 'POST', path: '', body: { shown: false } } },
    'hidden',
    true,
  ],
  ['a field with that name', 'args.body.shown', { input: { body: { shown: false, n: 1 } } }, false, false],
  ['an input that was not recorded', 'args.n > 1', {}, 'hidden', true],
])('%s', (_, when, fields, wanted, hides) => {
  expect(answerOf(when, fields)).toBe(wanted);
  expect(recordedFacts(fields, at)).toMatchObject({ wallTime: at, hides });
});

test('an input that is deeper than any call is undecided below the depth of a call', () => {
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`);
  expect(answerOf(`args${'.a'.repeat(50)} == 1`, { input: deep })).toBe('type');
  expect(recordedFacts({ input: deep }, at).hides).toBe(true);
});

test('keys with a meaning for objects are ordinary', () => {
  expect(answerOf('has(args.__proto__) && args.constructor == 1', { input: JSON.parse('{"__proto__": 1, "constructor": 1}') })).toBe(true);
});

test('of an HTTP call only the recorded headers are known', () => {
  const input = { method: 'POST', path: '/refunds', headers: { 'x-team': 'a' } };
  expect([...(recordedFacts({ input }, at).shownHeaders ?? [])]).toEqual(['x-team']);
  expect(recordedFacts({ input: { method: 'GET', path: '/' } }, at)).toMatchObject({ shownHeaders: new Set(), hides: true });
  for (const other of [{ ...input, to: 'bob' }, { method: 'POST' }, { path: '/x' }, 'POST']) {
    expect(recordedFacts({ input: other }, at)).not.toHaveProperty('shownHeaders');
  }
});

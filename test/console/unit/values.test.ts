// What the console shows of an input in a few lines, where its policy is changed, and which call is next after an answer.
import { describe, expect, test } from 'vitest';
import { valuesOf } from '../../../console/approvals/values.ts';
import { placeOf } from '../../../console/calls/place-of.ts';

describe('the values of an input', () => {
  test('each value has its place, and more of them are counted', () => {
    expect(valuesOf({ to: 'Harbour', lines: [{ amount: 640 }, {}], note: null }, 3)).toEqual({
      first: [
        { path: 'to', text: 'Harbour' },
        { path: 'lines[0].amount', text: '640' },
        { path: 'lines[1]', text: '{}' },
      ],
      more: 1,
    });
    expect(valuesOf('text', 2)).toEqual({ first: [{ path: '', text: 'text' }], more: 0 });
  });

  test('an input of very many values is counted to a bound', () => {
    expect(valuesOf({ all: Array.from({ length: 5_000 }, (_, at) => at), more: Array.from({ length: 5_000 }, () => 1) }, 2).more).toBe(998);
  });
});

test('each document of the policy names its layer and its path', () => {
  expect(placeOf('workspace', 'w')).toEqual({ words: 'the policy of the workspace', whose: '', path: '/w/admin/workspacePolicy' });
  expect(placeOf('role:member', 'w')).toEqual({ words: 'the policy of the role', whose: 'member', path: '/w/admin/rolePolicies/member' });
  expect(placeOf('agent-type:a::api::b', 'w').path).toBe('/w/admin/agentTypePolicies/a%3A%3Aapi%3A%3Ab');
  expect(placeOf('user:mia:organisation', 'w')).toEqual({
    words: 'the policy of the user',
    whose: 'mia',
    path: '/w/admin/userPolicies/mia',
  });
  expect(placeOf('user:mia:self', 'w').words).toBe('the part of the policy that is set by the user');
});

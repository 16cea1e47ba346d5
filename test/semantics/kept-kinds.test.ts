// Which exception from redaction applies to a tool.
import { type CompiledRedaction, plainRedaction } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { keptKinds } from '../../sidecar/engine/decide/kept-kinds.ts';

const redaction: CompiledRedaction = {
  ...plainRedaction,
  exceptions: [
    ['*', ['jwt']],
    ['__proto__', ['iban']],
    ['crm.*', ['email']],
    ['crm.contacts.*', ['phone']],
    ['crm.contacts.find', []],
    ['git*', ['password']],
  ],
};

test.each([
  ['the exact name before every wildcard, also where it keeps nothing', 'crm.contacts.find', 'crm.contacts.find', []],
  ['the longest wildcard alone: a longer one is not added to a shorter one', 'crm.contacts.list', 'crm.contacts.*', ['phone']],
  ['a shorter wildcard where no longer one begins the name', 'crm.deals', 'crm.*', ['email']],
  ['the prefix of a wildcard itself', 'crm.', 'crm.*', ['email']],
  ['a tool whose name is written like a wildcard', 'crm.*', 'crm.*', ['email']],
  ['a name as those of prototypes', '__proto__', '__proto__', ['iban']],
] as const)('%s', (_, tool, key, kinds) => {
  expect(keptKinds(redaction, tool)).toEqual({ path: `redaction.exceptions["${key}"]`, kinds });
});

test.each(['crm', 'CRM.deals', 'github.push', 'constructor', ''])(
  'no exception applies to %j: "*" and "git*" are ordinary names',
  (tool) => {
    expect(keptKinds(redaction, tool)).toEqual({ path: null, kinds: [] });
    expect(keptKinds(plainRedaction, tool)).toEqual({ path: null, kinds: [] });
  },
);

test('equal questions return the same list object, so that a cache keyed by it has hits', () => {
  expect(keptKinds(redaction, 'crm.deals').kinds).toBe(keptKinds(redaction, 'crm.leads').kinds);
  expect(keptKinds({ ...redaction, exceptions: [['crm.*', ['iban']]] }, 'crm.deals').kinds).toEqual(['iban']);
});

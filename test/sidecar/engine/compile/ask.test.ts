// The terms of rules that ask: what a document may say, and what it compiles to.
import { askBounds, type DocumentId } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { compileDocument } from '../../../../sidecar/engine/compile/compile.ts';
import { checkDocument, type DocumentKind, type PolicyDocument } from '../../../../sidecar/engine/compile/policy-document.ts';
import { eligibleApprovers } from '../../../../sidecar/engine/decide/approvers.ts';

type Part = 'organisation' | 'self';

const linesOf = (rule: unknown, kind: DocumentKind = 'workspace', part: Part = 'organisation'): readonly string[] =>
  checkDocument(kind, part, { defaults: { api: rule } }).map(({ path, message }) => `${path} ${message}`);
const withTerms = (ask: unknown): unknown => ({ permission: 'ask', ask });
const place = 'defaults.api.ask';

describe('a document may ask', () => {
  test.each([
    ['without terms', { permission: 'ask' }],
    ['of the person that the call is made for', withTerms('confirm')],
    ['with no term set', withTerms({})],
    ['of roles and persons', withTerms({ approvers: ['role:owner', 'user:ann@example.com'] })],
    ['of the person and others', withTerms({ approvers: ['subject', 'role:admin'], self: true })],
    ['of as many as there are', withTerms({ approvers: ['user:a', 'user:b'], need: 2 })],
    [
      'with every term at its lower bound',
      withTerms({ need: 1, waitSeconds: 0, pendingSeconds: 10, validSeconds: 1, uses: 1, self: false, independent: false }),
    ],
    [
      'with every term at its upper bound',
      withTerms({
        need: 5,
        waitSeconds: 3_600,
        pendingSeconds: 2_592_000,
        validSeconds: 604_800,
        uses: 100,
        independent: true,
        via: 'session',
        reason: 'r'.repeat(askBounds.reasonLength),
      }),
    ],
    ['in a case of its own', { permission: 'allow', cases: [{ name: 'a', when: 'args.a == 1', permission: 'ask', ask: { need: 2 } }] }],
  ])('%s', (_, rule) => {
    expect(linesOf(rule)).toEqual([]);
  });

  test('in the part of a member, who names no approvers', () => {
    expect(linesOf({ permission: 'ask', ask: { uses: 3, via: 'session' } }, 'user', 'self')).toEqual([]);
    expect(linesOf(withTerms('confirm'), 'user', 'self')).toEqual([]);
    const words = 'may only be set by owners and admins; what a member asks about, that member, owners and admins answer';
    expect(linesOf(withTerms({ approvers: ['user:friend'], self: true }), 'user', 'self')).toEqual([
      `${place}.approvers ${words}`,
      `${place}.self ${words}`,
    ]);
  });
});

describe('a document is refused with', () => {
  test.each<readonly [string, unknown, string]>([
    [
      'terms of a denial',
      { permission: 'deny', ask: {} },
      `${place} is only for a rule or case with its own permission "ask"; remove it with null`,
    ],
    ['terms alone', { ask: 'confirm' }, `${place} is only for a rule or case with its own permission "ask"; remove it with null`],
    ['another preset', withTerms('four-eyes'), `${place} must be "confirm", or an object with the terms`],
    ['terms of null', withTerms(null), `${place} must be "confirm", or an object with the terms`],
    [
      'no approver',
      withTerms({ approvers: [] }),
      `${place}.approvers must name at least one approver; without the field, owners and admins may answer`,
    ],
    ['an approver twice', withTerms({ approvers: ['user:a', 'user:a'] }), `${place}.approvers must not name an approver twice`],
    [
      'an unknown role',
      withTerms({ approvers: ['role:boss'] }),
      `${place}.approvers[0] must be "subject", "role:<role>" with a role of owner, admin, member, or "user:<uid>"`,
    ],
    [
      'an approver without a kind',
      withTerms({ approvers: ['ann'] }),
      `${place}.approvers[0] must be "subject", "role:<role>" with a role of owner, admin, member, or "user:<uid>"`,
    ],
    [
      '21 approvers',
      withTerms({ approvers: Array.from({ length: 21 }, (_, i) => `user:u${i}`) }),
      `${place}.approvers must have at most 20 items, has 21`,
    ],
    [
      'the person that may not answer',
      withTerms({ approvers: ['subject'] }),
      `${place}.self must be true if "subject" is an approver: otherwise this person may not answer`,
    ],
    [
      'more needed than named',
      withTerms({ approvers: ['user:a'], need: 2 }),
      `${place}.need must be at most 1, the number of the approvers`,
    ],
    ['a need of 0', withTerms({ need: 0 }), `${place}.need must be an integer from 1 to 5`],
    ['a wait that is too long', withTerms({ waitSeconds: 3_601 }), `${place}.waitSeconds must be an integer from 0 to 3600`],
    [
      'a question that stands too long',
      withTerms({ pendingSeconds: 2_592_001 }),
      `${place}.pendingSeconds must be an integer from 10 to 2592000`,
    ],
    ['a fraction', withTerms({ validSeconds: 0.5 }), `${place}.validSeconds must be an integer from 1 to 604800`],
    ['too many uses', withTerms({ uses: 101 }), `${place}.uses must be an integer from 1 to 100`],
    ['another way to answer', withTerms({ via: 'mail' }), `${place}.via must be "session"`],
    ['a long reason', withTerms({ reason: 'r'.repeat(301) }), `${place}.reason must be at most 300 characters, is 301`],
    [
      'a bidirectional mark',
      withTerms({ reason: 'a\u202eb' }),
      `${place}.reason must hold no control, format or unpaired surrogate character`,
    ],
  ])('%s', (_, rule, line) => {
    expect(linesOf(rule)).toEqual([line]);
  });

  test('an unknown term', () => {
    expect(linesOf(withTerms({ escalate: true }))).toEqual([expect.stringContaining(`${place}.escalate is not a field here`)]);
  });
});

const compiled = (rule: unknown, id: DocumentId = { layer: 'workspace' }): unknown =>
  compileDocument(id, { defaults: { api: rule } } as PolicyDocument).defaults[0]?.[1];
const defaults = { need: 1, waitSeconds: 300, pendingSeconds: 86_400, validSeconds: 900, uses: 1 };

describe('a question compiles to', () => {
  test('owners and admins, and the default numbers', () => {
    const wanted = { permission: 'ask', ask: { approvers: ['role:admin'], ...defaults } };
    for (const rule of [{ permission: 'ask' }, withTerms({}), withTerms({ self: false, independent: false })])
      expect(compiled(rule)).toEqual(wanted);
  });

  test('the person that the call is made for, by the preset', () => {
    expect(compiled(withTerms('confirm'))).toEqual({ permission: 'ask', ask: { approvers: ['subject'], ...defaults, self: true } });
  });

  test('the member, owners and admins, in the part that a member wrote', () => {
    const id = { layer: 'user', uid: 'ann', part: 'self' } as const;
    for (const rule of [{ permission: 'ask' }, withTerms('confirm')])
      expect(compiled(rule, id)).toEqual({ permission: 'ask', ask: { approvers: ['role:admin', 'user:ann'], ...defaults, self: true } });
  });

  test('the same bytes, in whatever order its terms and approvers were written', () => {
    const one = withTerms({ approvers: ['user:b', 'role:owner', 'user:a'], need: 2, reason: 'r', independent: true });
    const other = { ask: { reason: 'r', independent: true, need: 2, approvers: ['role:owner', 'user:a', 'user:b'] }, permission: 'ask' };
    expect(JSON.stringify(compiled(one))).toBe(JSON.stringify(compiled(other)));
  });

  test('no terms of its rule in a case that asks', () => {
    const cases = [{ name: 'a', when: 'args.a == 1', permission: 'ask' }];
    expect(compiled({ ...Object(withTerms({ need: 3 })), cases })).toMatchObject({
      ask: { need: 3 },
      cases: [{ permission: 'ask', ask: { approvers: ['role:admin'], ...defaults } }],
    });
  });
});

describe('who may answer', () => {
  const members = [
    { uid: 'olga', role: 'owner' },
    { uid: 'adam', role: 'admin' },
    { uid: 'ann', role: 'member' },
    { uid: 'bob', role: 'member' },
  ] as const;
  const uids = (approvers: readonly string[], subject: string | null, self = false): readonly string[] =>
    eligibleApprovers({ approvers, ...(self ? { self: true as const } : {}) }, members, subject).map(({ uid }) => uid);

  test.each<readonly [string, readonly string[], string | null, boolean, readonly string[]]>([
    ['a role, or one above it', ['role:admin'], null, false, ['olga', 'adam']],
    ['the lowest of the named roles', ['role:owner', 'role:member'], null, false, ['olga', 'adam', 'ann', 'bob']],
    ['a named person', ['user:bob'], 'ann', false, ['bob']],
    ['not the person that the call is made for', ['role:admin', 'user:ann'], 'adam', false, ['olga', 'ann']],
    ['that person too, if the rule says so and names them', ['role:admin'], 'adam', true, ['olga', 'adam']],
    ['that person only if they are named', ['role:admin'], 'ann', true, ['olga', 'adam']],
    ['that person alone, by the preset', ['subject'], 'ann', true, ['ann']],
    ['no one for a service key, by the preset', ['subject'], null, true, []],
    ['no one who is no member', ['user:gone'], 'ann', false, []],
  ])('%s', (_, approvers, subject, self, wanted) => {
    expect(uids(approvers, subject, self)).toEqual(wanted);
  });
});

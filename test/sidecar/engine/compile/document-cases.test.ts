// What is refused of the cases in a document, each with its place, and in bounded time.
import { conditionBounds } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { caseCountProblem, countCases } from '../../../../sidecar/engine/compile/document-cases.ts';
import { checkDocument, type DocumentKind } from '../../../../sidecar/engine/compile/policy-document.ts';
import { parsePolicySet } from '../../../../sidecar/engine/compile/policy-set.ts';

const withCases = (cases: unknown): object => ({ tools: { 'payments.transfer': { api: { permission: 'allow', cases } } } });
const place = 'tools["payments.transfer"].api.cases';
const large = { name: 'large', when: 'args.amount > 1000', permission: 'deny' };
const linesOf = (document: object, kind: DocumentKind = 'workspace', part: 'organisation' | 'self' = 'organisation'): readonly string[] =>
  checkDocument(kind, part, document).map(({ path, message }) => `${path} ${message}`);

test.each<readonly [string, DocumentKind, object]>([
  ['the workspace', 'workspace', withCases([large])],
  ['a role', 'role', { defaults: { api: { cases: [large, { ...large, name: 'other', reason: 'ask the bank' }] } } }],
  ['an agent type', 'agent-type', withCases([{ name: 'é \u{1F600}', when: 'true', rateLimit: 5, transform: 'redact' }])],
  ['a user', 'user', { agentTypes: { 'c::api::a': { api: { override: true, cases: [large] } } } }],
])('cases are accepted in the document of %s', (_, kind, document) => {
  expect(linesOf(document, kind)).toEqual([]);
});

describe('refused, with the place and what would be right', () => {
  test.each<readonly [string, unknown, RegExp]>([
    ['no list', { large }, /\.cases must be an array$/],
    ['an empty list', [], /\.cases must have at least one case; remove the field with null$/],
    ['51 cases', Array.from({ length: 51 }, (_, n) => ({ ...large, name: `n${n}` })), /\.cases must have at most 50 items, has 51$/],
    ['no object', ['args.a'], /\.cases\[0\] must be an object$/],
    ['no name', [{ when: 'true' }], /\.cases\[0\]\.name is required$/],
    ['no condition', [{ name: 'a' }], /\.cases\[0\]\.when is required$/],
    ['an empty name', [{ ...large, name: '' }], /\.cases\[0\]\.name must not be empty$/],
    ['a long name', [{ ...large, name: 'n'.repeat(65) }], /\.cases\[0\]\.name must be at most 64 characters, is 65$/],
    ['a control character in a name', [{ ...large, name: 'a\u0007b' }], /\.cases\[0\]\.name must hold no control/],
    [
      'a name twice',
      [large, { name: 'other', when: 'true' }, large],
      /\.cases\[2\]\.name must be unique in the rule, but "large" is already the name of case 0$/,
    ],
    ['another field', [{ ...large, override: true }], /\.cases\[0\]\.override is not a field here; the fields are name, when, /],
    ['a long reason', [{ ...large, reason: 'r'.repeat(201) }], /\.cases\[0\]\.reason must be at most 200 characters, is 201$/],
    ['a bidirectional mark in a reason', [{ ...large, reason: 'a\u202eb' }], /\.cases\[0\]\.reason must hold no control, format/],
    [
      'terms without "ask"',
      [{ ...large, ask: 'confirm' }],
      /\.cases\[0\]\.ask is only for a rule or case with its own permission "ask"; remove it with null$/,
    ],
    ['a limit below 0', [{ ...large, rateLimit: -1 }], /\.cases\[0\]\.rateLimit must be an integer from 0 to/],
    ['a condition that is no text', [{ ...large, when: true }], /\.cases\[0\]\.when must be a text: a condition in CEL$/],
    ['an empty condition', [{ ...large, when: ' ' }], /\.cases\[0\]\.when line 1, column 1: must not be empty$/],
    [
      'a long condition',
      [{ ...large, when: `true || "${'x'.repeat(4_096)}" == ""` }],
      /line 1, column 1: must be at most 4096 bytes, is \d+$/,
    ],
    [
      'NUL in a condition',
      [{ ...large, when: 'args.a == "\0"' }],
      /\.cases\[0\]\.when must hold no control or format character; write it as \\u/,
    ],
    ['an unpaired surrogate', [{ ...large, when: 'args.a == "\ud800"' }], /\.cases\[0\]\.when must hold no control or format character/],
    [
      'a syntax error',
      [large, { ...large, name: 'b', when: 'args.a == 1\n  ) || true' }],
      /\.cases\[1\]\.when line 2, column 3: "\)" closes nothing/,
    ],
    [
      'an unknown variable',
      [{ ...large, when: 'args.amount > limit' }],
      /\.cases\[0\]\.when line 1, column 15: there is no variable "limit"/,
    ],
    [
      'an unknown function',
      [{ ...large, when: 'frobnicate(args.a)' }],
      /\.cases\[0\]\.when line 1, column \d+: there is no function "frobnicate"$/,
    ],
  ])('%s', (_, cases, words) => {
    const lines = linesOf(withCases(cases));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(words);
    expect(lines[0]?.startsWith(place)).toBe(true);
  });

  test("cases in a member's own part, whatever they hold", () => {
    for (const cases of [[large], [{ when: '((' }], 7, null])
      expect(linesOf({ defaults: { api: { cases } } }, 'user', 'self')).toEqual([
        'defaults.api.cases may only be set by owners and admins; rules of members have no cases',
      ]);
  });

  test('all mistakes of a document at once, with the place of the document in a set', () => {
    const rolePolicies = {
      member: withCases([{ ...large, when: 'args.' }]),
      owner: { defaults: { 'not a tier': { cases: [{ ...large, when: 'x' }] } } },
    };
    const parsed = parsePolicySet({ rolePolicies });
    expect('problems' in parsed ? parsed.problems.map(({ path }) => path) : []).toEqual([
      `rolePolicies.member.${place}[0].when`,
      'rolePolicies.owner.defaults["not a tier"].cases[0].when',
    ]);
  });
});

const rules = (count: number, each: number, when: (n: number) => string): object => ({
  tools: Object.fromEntries(
    Array.from({ length: count }, (_, n) => [
      `t.${n}`,
      { api: { cases: Array.from({ length: each }, (__, at) => ({ name: `c${at}`, when: when(n * each + at), permission: 'deny' })) } },
    ]),
  ),
});

describe('bounds', () => {
  test('2,000 cases of one document are accepted, one more is refused with both numbers', () => {
    const full = rules(40, 50, (n) => `args.a == ${n % 100}`);
    expect(linesOf(full)).toEqual([]);
    const more = { ...full, defaults: { api: { cases: [large] } } };
    expect(linesOf(more)).toEqual(['document must have at most 2000 cases in all documents, would have 2001']);
  });

  test('of a set all documents count, before a condition is read', () => {
    const half = rules(21, 50, () => '((((');
    const parsed = parsePolicySet({ workspacePolicy: half, rolePolicies: { member: half } });
    expect(parsed).toEqual({ problems: [{ path: 'body', message: 'must have at most 2000 cases in all documents, would have 2100' }] });
  });

  test('long conditions are refused by their total, before one is read', () => {
    const when = `args.a == "${'x'.repeat(4_000)}`;
    const lines = linesOf(rules(3, 50, () => when));
    const bytes = 150 * Buffer.byteLength(when);
    expect(lines).toEqual([
      `document must have conditions of at most ${conditionBounds.sourceBytesInWorkspace} bytes in all documents, would have ${bytes}`,
    ]);
  });

  test('after 20 wrong conditions no more are read', () => {
    const lines = linesOf(rules(2, 50, (n) => `args.a == unknown${n}`));
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('document has more conditions, which were not checked');
  });

  test('conditions that grow when their macros are expanded are refused as well', () => {
    const macros = `[${Array.from({ length: 80 }, () => '[1].all(a, a)').join(', ')}].size() == 0`;
    const lines = linesOf(rules(4, 50, () => macros));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^document must have conditions of at most 2097152 bytes as sidecars receive them, would have \d{7,}$/);
  });

  test('only cases with a condition count', () => {
    expect(countCases([null, 7, [], { tools: { a: 7, b: { api: { cases: [7, {}, { when: 'é' }] } } } }])).toEqual({ cases: 1, bytes: 2 });
    expect(caseCountProblem({ cases: conditionBounds.casesInWorkspace, bytes: conditionBounds.sourceBytesInWorkspace })).toBeNull();
  });
});

import {
  agentTypeKey,
  bounds,
  hashKey,
  intersectTools,
  isLoopback,
  isSlug,
  isUid,
  nameProblem,
  namesTool,
  parseAgentType,
  parseKey,
  rulePath,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';

test('a name is 1 to 200 characters, without control or format characters, unpaired surrogates, or a blank at either end', () => {
  for (const good of ['a', 'a b', 'x'.repeat(200), '😀', '文', '__proto__', '*', 'a::b', 'mail.send']) expect(nameProblem(good)).toBeNull();
  for (const bad of [
    '',
    ' a',
    'a ',
    '\ta',
    'a\u00a0',
    '\u3000a',
    'x'.repeat(201),
    'a\u0000',
    'a\nb',
    'a\u007f',
    'a\u0085b',
    'a\u200bb',
    'a\u202eb',
    '\ufeffa',
    'a\ud800',
    '\udc00',
    'a\u00adb',
  ]) {
    expect(nameProblem(bad)).toEqual(expect.any(String));
  }
});

test('a key is a wildcard only with * after a separator; * alone and git* are names', () => {
  expect(['github.*', 'a_*', 'a/*', 'a:*', 'a-*', '.*'].map(wildcardPrefix)).toEqual(['github.', 'a_', 'a/', 'a:', 'a-', '.']);
  for (const name of ['*', 'git*', 'a.*.b', 'github.**', 'github.* ', '']) expect(wildcardPrefix(name)).toBeNull();
});

test('a list names a tool by its name or by a wildcard, code unit by code unit', () => {
  expect(namesTool(['github.*'], 'github.read')).toBe(true);
  expect(namesTool(['github.*'], 'github.')).toBe(true);
  expect(namesTool(['github.*'], 'github.*')).toBe(true);
  for (const tool of ['github', 'Github.read', 'githubXread', '']) expect(namesTool(['github.*'], tool)).toBe(false);
  expect(namesTool(['*'], 'anything')).toBe(false);
  expect(namesTool(['é'], 'é'.normalize('NFD'))).toBe(false);
  expect(namesTool([], 'a')).toBe(false);
});

const toolKey = fc.constantFrom('a', 'a.b', 'a.b.c', 'a.*', 'a.b.*', 'a_*', 'b', 'b.*', '*', 'a.b_*', '__proto__', 'constructor');
const tool = fc.constantFrom('a', 'a.b', 'a.b.c', 'a.b.c.d', 'a.x', 'a_x', 'b', 'b.x', '*', 'a.b_x', 'a.*', '__proto__', 'constructor');

test('what both lists name is exactly their intersection', () => {
  fc.assert(
    fc.property(fc.array(toolKey), fc.array(toolKey), tool, (a, b, name) => {
      expect(namesTool(intersectTools(a, b), name)).toBe(namesTool(a, name) && namesTool(b, name));
    }),
    { numRuns: 3_000 },
  );
});

test('an agent type is split at its first two ::, and its name can be empty or contain more of them', () => {
  expect(parseAgentType('claude-code::api::bot')).toEqual({ client: 'claude-code', tier: 'api', name: 'bot' });
  expect(parseAgentType('c::background::')).toEqual({ client: 'c', tier: 'background', name: '' });
  expect(parseAgentType('c::api::a::b')).toEqual({ client: 'c', tier: 'api', name: 'a::b' });
  expect(parseAgentType('c:::api::x')).toBeNull();
  for (const bad of [
    '',
    'c',
    'c::api',
    '::api::x',
    'c::root::x',
    'c::constructor::x',
    ' c::api::x',
    'c::api::x ',
    'c::api::\u0000',
    'c:api:x',
  ])
    expect(parseAgentType(bad)).toBeNull();
});

test('the parts of an agent type that was composed are the same after splitting', () => {
  const part = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .filter((text) => nameProblem(text) === null && !text.includes('::') && !text.endsWith(':'));
  fc.assert(
    fc.property(
      part,
      fc.constantFrom('interactive', 'subagent', 'background', 'api'),
      fc.oneof(fc.constant(''), part),
      (client, tier, name) => {
        expect(parseAgentType(agentTypeKey({ client, tier, name }))).toEqual({ client, tier, name });
      },
    ),
  );
});

test('a key names its workspace, and only text of exactly its form is a key', () => {
  const random = 'aZ09'.repeat(8);
  expect(parseKey(`gsk_acme_${random}`)).toEqual({ workspace: 'acme' });
  expect(parseKey(`gsk_a-b-1_${random.repeat(2)}`)).toEqual({ workspace: 'a-b-1' });
  const bad = [
    '',
    'gsk_',
    `gsk_acme_${random.slice(1)}`,
    `gsk_acme_${random.repeat(2)}x`,
    `gsk_Acme_${random}`,
    `gsk_-a_${random}`,
    `gsk_a-_${random}`,
    `gsk_${'a'.repeat(41)}_${random}`,
    `gsk_api_${random}`,
  ];
  bad.push(
    `GSK_acme_${random}`,
    ` gsk_acme_${random}`,
    `gsk_acme_${random}\n`,
    `gsk_acme_${random.slice(1)}-`,
    `gsk_acme_${random.slice(1)}_`,
    `gsk__${random}`,
    `gsk_ac_me_${random}`,
    `gsk_${random}`,
  );
  for (const text of bad) expect(parseKey(text)).toBeNull();
});

test('a key is hashed as its bytes', () => {
  expect(hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('slugs and uids have their forms, and reserved slugs are not slugs', () => {
  for (const slug of ['a', 'a1', 'my-team', 'a'.repeat(40)]) expect(isSlug(slug)).toBe(true);
  for (const slug of ['', '-a', 'a-', 'A', 'a_b', 'a'.repeat(41), 'api', 'docs', 'metrics', 'a\n']) expect(isSlug(slug)).toBe(false);
  for (const uid of ['ann', 'auth0|5f', 'a@b.c', 'x'.repeat(128), '-', '.']) expect(isUid(uid)).toBe(true);
  for (const uid of ['', 'a:b', 'a b', 'x'.repeat(129), 'ä', 'a\n', 'apikey:1']) expect(isUid(uid)).toBe(false);
});

test('two different places are never written alike', () => {
  expect(rulePath('defaults', null, 'api')).toBe('defaults.api');
  expect(rulePath('tools', 'github.*', 'api')).toBe('tools["github.*"].api');
  expect(rulePath('tools', 'a"].api', 'api')).toBe('tools["a\\"].api"].api');
  expect(rulePath('agentTypes', 'c::api::', 'odd tier')).toBe('agentTypes["c::api::"]["odd tier"]');
});

test('loopback is this machine only', () => {
  for (const host of ['localhost', '127.0.0.1', '127.255.0.9', '::1']) expect(isLoopback(host)).toBe(true);
  for (const host of ['', '0.0.0.0', '::', '127.0.0.1.evil', '127.1', 'localhost.evil', '10.0.0.1', '::ffff:10.0.0.1', '127.0.0.256'])
    expect(isLoopback(host)).toBe(false);
});

test('the bounds of the contract fit together', () => {
  expect(bounds.auditBatchRecords).toBeLessThanOrEqual(bounds.auditCreditRecords);
  expect(bounds.auditInputBytes).toBeLessThan(bounds.auditEntryBytes);
  expect(bounds.modelOutputBytes).toBeLessThan(bounds.bodyBytes);
  expect(bounds.toolOutputBytes + bounds.bodyBytes).toBeLessThanOrEqual(bounds.outputBodyBytes);
  expect(bounds.auditEntryBytes).toBeLessThan(bounds.auditBatchBytes);
});

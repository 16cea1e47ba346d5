// `tollgate policy test`: what it prints, its exit codes, and each mistake in its files with its place. No control plane
// runs.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { keysIn } from '../../cli/policies/policy-text.ts';
import { testFileSchema } from '../../cli/policies/test-shape.ts';
import { folder, jsonOf, type Ran, run } from './cli.ts';

const policy = `workspacePolicy:
  tools:
    payments.transfer:
      api:
        rateLimit: 20
        cases:
          - name: large
            when: args.amount > 100
            permission: deny
            reason: ask finance
          - name: late
            when: args.amount > 50 && now.getHours() >= 18
            permission: deny
rolePolicies:
  admin:
    tools:
      payments.transfer:
        api: { transform: redact }
`;
const beginning = `version: 1
policies: [policy.yaml]
world:
  members: { ann: member, bob: admin }
  agents:
    clerk: { enabledTools: [payments.*], scopes: [money] }
    outsider: { registered: false }
  toolServers:
    bank: { pay: { requiredScopes: [money] } }
defaults: { sub: ann, tier: api, tool: payments.transfer }
calls:
`;

let where: string;
beforeEach(() => {
  where = folder();
  write('policy.yaml', policy);
});

function write(name: string, text: string): string {
  const path = join(where, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const ran = (calls: string, flags: readonly string[] = []): Promise<Ran> =>
  run(['policy', 'test', ...flags, write('a.test.yaml', beginning + calls)]);

describe('results', () => {
  test('one line a call; 0 if all decisions are as expected', async () => {
    const { code, out, err } = await ran(`  - { name: small, input: { amount: 5 }, expect: allow }
  - name: large
    input: { amount: 500 }
    expect: { decision: deny, case: large, reason: ask finance, undecided: [], limits: [], transform: log }
`);
    expect(err).toBe('');
    expect(out).toBe(`${join(where, 'a.test.yaml')}\n  ok    small\n  ok    large\n2 calls, all decided as expected\n`);
    expect(code).toBe(0);
  });

  test('a difference shows what was expected, what was decided, and why; the exit code is 2', async () => {
    const { code, out } = await ran(`  - { name: small, input: { amount: 5 }, expect: allow }
  - name: text
    now: 2026-06-01T20:00:00Z
    input: { amount: "500" }
    expect: { decision: allow, case: late, undecided: [], limits: [7], reason: of lunch, transform: redact }
`);
    expect(code).toBe(2);
    expect(out.split('\n').slice(1)).toEqual([
      '  ok    small',
      `  FAIL  text  ${join(where, 'a.test.yaml')}:13:5`,
      '          decision   expected allow, got deny',
      '          case       expected late, got large',
      '          transform  expected redact, got log',
      expect.stringMatching(
        /^ {10}reason {5}expected … of lunch …, got policy_denied: the workspace denies api calls of "payments.transfer" .*: ask finance; it is not known whether this case holds, because args\.amount cannot be evaluated \(type\)$/,
      ),
      '          undecided  expected none, got large, late',
      '          limits     expected 7, got none',
      expect.stringMatching(
        /^ {10}case {7}workspace tools\["payments.transfer"\]\.api\.cases\["large"\] undecided \(type: args\.amount > 100\), and acts$/,
      ),
      expect.stringMatching(
        /^ {10}case {7}workspace tools\["payments.transfer"\]\.api\.cases\["late"\] undecided \(type: args\.amount > 50\)$/,
      ),
      '2 calls, 1 not decided as expected',
      '',
    ]);
  });

  test.each([
    ['the decision', 'deny', 'decision'],
    ['a case that does not act', '{ decision: allow, case: large }', 'case'],
    ['a transform', '{ decision: allow, transform: redact }', 'transform'],
    ['a reason', '{ decision: allow, reason: finance }', 'reason'],
    ['a case that is decided', '{ decision: allow, undecided: [large] }', 'undecided'],
    ['a limit', '{ decision: allow, limits: [20, 5] }', 'limits'],
    ['no limit', '{ decision: allow, limits: [] }', 'limits'],
  ])('%s that is not as expected fails', async (_what, expected, field) => {
    const result = await ran(`  - { name: small, input: { amount: 5 }, expect: ${expected} }\n`, ['--json']);
    expect(result.code).toBe(2);
    expect(jsonOf(result)).toMatchObject({ ok: false, count: 1, failed: 1, files: [{ calls: [{ ok: false, differences: [{ field }] }] }] });
  });

  test.each([
    ['nothing more than the decision', 'deny'],
    ['a case by its path', `{ decision: deny, case: 'tools["payments.transfer"].api.cases["large"]' }`],
    ['a case by its document and path', `{ decision: deny, case: 'workspace tools["payments.transfer"].api.cases["large"]' }`],
  ])('%s can be expected', async (_what, expected) => {
    expect(await ran(`  - { name: large, input: { amount: 500 }, expect: ${expected} }\n`)).toMatchObject({ code: 0 });
  });

  test('the world is that of the file: roles, agents, scopes of tools', async () => {
    const { code, out } =
      await ran(`  - { name: admin, sub: bob, input: { amount: 5 }, expect: { decision: allow, transform: redact, limits: [20] } }
  - { name: role, role: admin, input: { amount: 5 }, expect: { decision: allow, transform: redact } }
  - { name: member, input: { amount: 5 }, expect: { decision: allow, transform: log, case: null } }
  - { name: other tool, agent: clerk, tool: mail.send, expect: { decision: deny, reason: agent_tools } }
  - { name: scope, agent: outsider, tool: bank.pay, expect: { decision: deny, reason: scope_missing } }
  - { name: other tier, tier: background, input: { amount: 500 }, expect: allow }
`);
    expect(out).toContain('6 calls, all decided as expected');
    expect(code).toBe(0);
  });

  test('defaultPermission is that of the control plane', async () => {
    const path = write(
      'b.test.yaml',
      `${beginning.replace('version: 1', 'version: 1\ndefaultPermission: deny')}  - { name: a, tool: b, expect: deny }\n`,
    );
    expect(await run(['policy', 'test', path])).toMatchObject({ code: 0 });
  });

  test('several files and folders are one result; policies of a folder leave tests out', async () => {
    write('deep/one.test.yaml', `${beginning.replace('[policy.yaml]', '[..]')}  - { name: a, input: { amount: 5 }, expect: allow }\n`);
    const json = { version: 1, policies: ['../policy.yaml'], calls: [{ name: 'b', tool: 'x', expect: 'allow' }] };
    write('deep/two.test.json', JSON.stringify(json));
    write('deep/other.yaml', 'rolePolicies: {}');
    const result = await run(['policy', 'test', join(where, 'deep')]);
    expect(result.out).toContain('2 calls, all decided as expected');
    expect(result.code).toBe(0);
  });

  test('JUnit has a suite for each file, and a failure with its difference', async () => {
    const junit = join(where, 'junit.xml');
    const result = await ran(
      `  - { name: 'a <"small"> & one', input: { amount: 5 }, expect: deny }\n  - { name: b, input: { amount: 5 }, expect: allow }\n`,
      ['--junit', junit],
    );
    expect(result.code).toBe(2);
    const text = readFileSync(junit, 'utf8');
    expect(text).toMatch(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n<testsuites tests="2" failures="1" errors="0">\n/);
    expect(text).toContain('name="a &lt;&quot;small&quot;&gt; &amp; one"');
    expect(text).toContain('<failure type="decision" message="decision: expected deny, got allow">');
    expect(text.match(/<testcase /g)).toHaveLength(2);
  });

  test('names reach the terminal without control characters', async () => {
    const { out } = await ran(`  - { name: "a\\e[2Jb", input: { amount: 5 }, expect: deny }\n`);
    expect(out).not.toContain('\u001b');
    expect(out).toContain('a\\u001b[2Jb');
  });
});

describe('mistakes are reported with their place, and with what would be right; the exit code is 1', () => {
  test.each([
    [
      'a call that reads now and has no time',
      '  - { name: a, input: { amount: 60 }, expect: allow }',
      /:12:5: a condition reads now, and the call "a" has no time; give it one, such as now: 2026/,
    ],
    [
      'an unknown field of a call',
      '  - { name: a, expect: allow, inputs: {} }',
      /:12:31: calls\[0\]\.inputs is not a field here; the fields are name, sub, .*input, expect$/,
    ],
    [
      'an unknown field of an expectation',
      '  - { name: a, expect: { decision: allow, cases: [x] } }',
      /:12:43: calls\[0\]\.expect\.cases is not a field here; the fields are decision, case,/,
    ],
    ['no expectation', '  - { name: a }', /:12:5: calls\[0\]\.expect is required/],
    ['a decision that does not exist', '  - { name: a, expect: maybe }', /:12:16: calls\[0\]\.expect must be "allow" or "ask" or "deny"/],
    [
      'an unknown agent',
      '  - { name: a, agent: clark, expect: allow }',
      /:12:16: calls\[0\]\.agent is "clark", which is not in world\.agents; agents are clerk, outsider$/,
    ],
    [
      'an unknown member',
      '  - { name: a, sub: zoe, expect: allow }',
      /:12:16: calls\[0\]\.sub is "zoe", which is not in world\.members; members are ann, bob$/,
    ],
    [
      'a member and a role',
      '  - { name: a, sub: ann, role: admin, expect: allow }',
      /calls\[0\]\.role must not be given together with sub/,
    ],
    [
      'a name twice',
      '  - { name: a, expect: allow }\n  - { name: a, expect: allow }',
      /:13:7: calls\[1\]\.name must be unique, but "a" is already the name of calls\[0\]/,
    ],
    [
      'a tier that does not exist',
      '  - { name: a, tier: night, expect: allow }',
      /calls\[0\]\.tier must be "interactive" or "subagent" or "background" or "api"/,
    ],
    [
      'a time without a zone',
      '  - { name: a, now: 2026-06-01T09:30:00, expect: allow }',
      /calls\[0\]\.now must be a time with its zone, such as 2026-06-01T09:30:00\+02:00/,
    ],
    ['a day that does not exist', '  - { name: a, now: 2026-13-01T09:30:00Z, expect: allow }', /calls\[0\]\.now must be a time/],
    ['a key twice', '  - { name: a, name: b, expect: allow }', /:12:16: .*unique/],
    ['no calls', '  []', /calls must have at least one call/],
    ['a client with ::', '  - { name: a, client: "x::y", expect: allow }', /calls\[0\]\.client must not hold "::"/],
  ])('%s', async (_what, calls, words) => {
    const { code, out, err } = await ran(`${calls}\n`);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.trimEnd()).toMatch(words);
    expect(err).toContain(join(where, 'a.test.yaml'));
  });

  test.each([
    ['another version', 'version: 1', 'version: 2', /:1:1: version must be 1: this is the only version/],
    ['no version', 'version: 1\n', '', /:1:1: version is required/],
    ['no policies', 'policies: [policy.yaml]', 'policies: []', /:2:1: policies must name at least one file/],
    ['a file that does not exist', 'policies: [policy.yaml]', 'policies: [gone.yaml]', /there is no file .*gone\.yaml/],
    ['a role that does not exist', 'bob: admin', 'bob: boss', /:4:27: world\.members\["bob"\] must be "owner" or "admin" or "member"/],
    [
      'a hint that does not exist',
      'requiredScopes: [money]',
      'annotations: { safe: true }',
      /world\.toolServers\["bank"\]\["pay"\]\.annotations\.safe is not a field here; the fields are readOnlyHint,/,
    ],
    ['an unknown section', 'world:', 'worlds:', /:3:1: worlds is not a field here; the fields are version, policies,/],
    ['no tool anywhere', ', tool: payments.transfer', '', /calls\[0\]\.tool is required, here or in defaults/],
  ])('%s', async (_what, from, to, words) => {
    const path = write('a.test.yaml', `${beginning.replace(from, to)}  - { name: a, input: { amount: 5 }, expect: allow }\n`);
    const { code, out, err } = await run(['policy', 'test', path]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err.trimEnd()).toMatch(words);
  });

  test.each([
    [
      'a condition that is not valid',
      'args.amount > 100',
      'args.amount >> 100',
      /policy\.yaml:8:13: workspacePolicy\.tools\["payments\.transfer"\]\.api\.cases\[0\]\.when line 1, column 14: .*">"/,
    ],
    [
      'an unknown variable',
      'args.amount > 100',
      'arg.amount > 100',
      /policy\.yaml:8:13: .* line 1, column 1: .*"arg".*; there are args, tool, agent, user, now/,
    ],
    ['a field of a policy', 'rateLimit: 20', 'rateLimits: 20', /policy\.yaml:5:9: .*rateLimits/],
    ['a role', 'admin:', 'boss:', /policy\.yaml:15:3: rolePolicies\.boss is not a valid key here/],
    ['YAML', 'rolePolicies:', 'rolePolicies: [', /policy\.yaml:\d+:\d+: /],
  ])('%s of a policy', async (_what, from, to, words) => {
    write('policy.yaml', policy.replace(from, to));
    const { code, out, err } = await ran('  - { name: a, input: { amount: 5 }, expect: allow }\n');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(words);
  });

  test('all mistakes of all files are listed', async () => {
    const one = write(
      'one.test.yaml',
      `${beginning}  - { name: a, sub: zoe, expect: allow }\n  - { name: b, agent: zoe, expect: allow }\n`,
    );
    const two = write('two.test.yaml', `${beginning}  - { name: a, tier: zoe, expect: allow }\n`);
    const { err } = await run(['policy', 'test', one, two]);
    expect(err.split('\n')).toHaveLength(5);
    expect(err).toMatch(/^tollgate: the tests or their policies have problems\n/);
  });

  test('a folder without tests, and no file at all', async () => {
    expect(await run(['policy', 'test', where])).toMatchObject({
      code: 1,
      err: expect.stringContaining('contains no .test.yaml, .test.yml or .test.json file'),
    });
    expect(await run(['policy', 'test'])).toMatchObject({ code: 1, err: expect.stringContaining("missing required argument 'file'") });
    expect(await run(['policy', 'test', join(where, 'gone.test.yaml')])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no file'),
    });
  });
});

test('the schema of the documents accepts the tests of the examples, and refuses an unknown field', () => {
  const valid = new Ajv2020({ strict: false }).compile(testFileSchema);
  const example: unknown = parse(
    readFileSync(fileURLToPath(new URL('../../examples/policies/payments.test.yaml', import.meta.url)), 'utf8'),
  );
  expect(valid(example), JSON.stringify(valid.errors)).toBe(true);
  expect(valid(parse(`${beginning}  - { name: a, expect: { decision: deny, case: null } }`))).toBe(true);
  expect(valid(parse(`${beginning}  - { name: a, expect: allow, inputs: {} }`))).toBe(false);
});

test.each([
  ['calls[3].expect.case', ['calls', 3, 'expect', 'case']],
  ['tools["a.b\\"c"].api.cases[0].when line 1', ['tools', 'a.b"c', 'api', 'cases', 0, 'when']],
  ['workspacePolicy', ['workspacePolicy']],
  ['["odd key"].x', ['odd key', 'x']],
  ['', []],
])('the path %s has these keys', (path, keys) => {
  expect(keysIn(path)).toEqual(keys);
});

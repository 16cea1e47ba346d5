import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { createCli, folder, jsonOf } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeEach(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterEach(() => rest.close());

const policies = `
workspacePolicy:
  defaults:
    api: { rateLimit: 30 }
rolePolicies:
  member:
    tools:
      github.push:
        api: { permission: deny }
`;

function file(text: string, name = 'policies.yaml', where = folder()): string {
  const path = join(where, name);
  writeFileSync(path, text);
  return path;
}

const at = (words: readonly string[], path: string): readonly string[] => [...words, '-f', path];

describe('policy diff and apply', () => {
  test('diff shows what the control plane warns of', async () => {
    const cases = '[{ name: ours, when: \'agent.name == "ours"\', permission: allow }]';
    const path = file(`rolePolicies: { member: { tools: { github.push: { api: { permission: deny, cases: ${cases} } } } } }`);
    expect((await tollgate(at(['policy', 'diff'], path))).out).toContain(
      'warnings:\n    role:member tools["github.push"].api.cases["ours"]: loosens the rule by agent.name, which callers only claim',
    );
  });

  test('diff shows each document and place with before and after, and exits 2; after the apply it exits 0', async () => {
    const path = file(policies);
    const diff = await tollgate(at(['policy', 'diff'], path));
    expect(diff.code).toBe(2);
    expect(diff.out).toBe(
      [
        '+ workspace',
        '    defaults.api.rateLimit: unset → 30',
        '+ role:member',
        '    tools["github.push"].api.permission: unset → "deny"',
        '',
      ].join('\n'),
    );
    expect(await tollgate(at(['policy', 'apply', '--dry-run'], path))).toEqual(diff);
    expect(await tollgate(at(['policy', 'apply'], path))).toMatchObject({
      code: 0,
      out: diff.out,
      err: expect.stringMatching(/^applied, revision \d+\n$/),
    });
    expect(await tollgate(at(['policy', 'diff'], path))).toEqual({ code: 0, out: '', err: 'there are no differences\n' });
    expect(await tollgate(at(['policy', 'apply'], path))).toMatchObject({
      code: 0,
      err: 'there are no differences; nothing was changed\n',
    });
  });

  test('a change and a removal are marked as such; colour is for terminals without NO_COLOR', async () => {
    await tollgate(at(['policy', 'apply'], file(policies)));
    const path = file('workspacePolicy: { defaults: { api: { rateLimit: 20 } } }\nrolePolicies: {}\n');
    const plain = await tollgate(at(['policy', 'diff'], path));
    expect(plain.out).toBe(
      [
        '~ workspace',
        '    defaults.api.rateLimit: 30 → 20',
        '- role:member',
        '    tools["github.push"].api.permission: "deny" → unset',
        '',
      ].join('\n'),
    );
    const coloured = await tollgate(at(['policy', 'diff'], path), { columns: 80 });
    expect(coloured.out).toContain('\u001b[31m30\u001b[39m → \u001b[32m20\u001b[39m');
    expect((await tollgate(at(['policy', 'diff'], path), { columns: 80, env: { NO_COLOR: '1' } })).out).toBe(plain.out);
  });

  test('--json is the raw answer, with the same exit codes', async () => {
    const diff = await tollgate(at(['policy', 'diff', '--json'], file(policies)));
    expect(diff.code).toBe(2);
    expect(jsonOf(diff)).toMatchObject({
      ok: true,
      dryRun: true,
      changes: [{ document: 'workspace', action: 'create' }, { document: 'role:member' }],
    });
    expect(jsonOf(await tollgate(at(['policy', 'apply', '--json'], file(policies))))).toMatchObject({
      dryRun: false,
      revision: expect.any(Number),
    });
    expect(await tollgate(at(['policy', 'diff', '--json'], file(policies)))).toMatchObject({
      code: 0,
      out: expect.stringContaining('"changes": []'),
    });
  });

  test('at a terminal apply shows the changes and asks; a no changes nothing, and --yes skips the question', async () => {
    const path = file(policies);
    const asked: string[] = [];
    const answers = (answer: boolean) => ({
      prompts: {
        confirm: async (message: string) => {
          asked.push(message);
          return answer;
        },
      },
    });
    const refused = await tollgate(at(['policy', 'apply'], path), answers(false));
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('tollgate: the change was not confirmed; nothing was changed') });
    expect(refused.err).toContain('+ role:member');
    expect(asked).toEqual([`Apply this to acme at ${rest.origin}?`]);
    expect(await tollgate(at(['policy', 'apply'], path), answers(true))).toMatchObject({ code: 0 });
    expect(await tollgate(at(['policy', 'apply'], path), answers(true))).toMatchObject({
      code: 0,
      err: 'there are no differences; nothing was changed\n',
    });
    expect(asked).toHaveLength(2);
    expect(await tollgate(at(['policy', 'apply', '--yes'], file('workspacePolicy: {}')), { prompts: {} })).toMatchObject({ code: 0 });
  });

  test('apply writes exactly what was confirmed: after a change in between it is refused', async () => {
    const confirm = async (): Promise<boolean> => {
      await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { defaults: { api: { rateLimit: 1 } } } });
      return true;
    };
    const refused = await tollgate(at(['policy', 'apply'], file(policies)), { prompts: { confirm } });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('another request has changed the object in the meantime') });
    expect((await rest.ask('GET', '/acme/admin/rolePolicies/member')).body).toEqual({});
  });

  test('cases are compared one by one, with their order where it changes; keys that pass them by are named', async () => {
    const rules = (cases: readonly string[], more = ''): string =>
      file(
        [
          'workspacePolicy:',
          '  tools:',
          '    payments.*:',
          '      api:',
          '        permission: allow',
          '        cases:',
          ...cases.map((one) => `          - ${one}`),
          more,
        ].join('\n'),
      );
    const large = '{ name: large, when: args.amount > 1000, permission: deny }';
    const noted = '{ name: noted, when: args.amount > 100, transform: redact }';
    const first = await tollgate(at(['policy', 'apply'], rules([large])));
    expect(first.out).toBe(
      [
        '+ workspace',
        '    tools["payments.*"].api.permission: unset → "allow"',
        '    tools["payments.*"].api.cases["large"]: unset → {"when":"args.amount > 1000","permission":"deny"}',
        '',
      ].join('\n'),
    );
    const added = await tollgate(at(['policy', 'diff'], rules([noted, large])));
    expect(added.out).toBe(
      [
        '~ workspace',
        '    tools["payments.*"].api.cases["noted"]: unset → {"when":"args.amount > 100","transform":"redact"}',
        '    tools["payments.*"].api.cases: order "large" → "noted", "large"',
        '',
      ].join('\n'),
    );
    const passing = await tollgate(at(['policy', 'diff'], rules([large], '    payments.transfer: { api: { permission: allow } }')));
    expect(passing.out).toBe(
      [
        '~ workspace',
        '    tools["payments.transfer"].api.permission: unset → "allow"',
        'cases that a more specific key passes by:',
        '    workspace tools["payments.transfer"].api sets permission: not large of tools["payments.*"].api',
        '',
      ].join('\n'),
    );
  });

  test('errors that the control plane finds are listed with their places', async () => {
    const wrong = file('rolePolicies: { member: { tools: { t: { api: { permission: maybe, rateLimit: -1 } } } } }');
    const refused = await tollgate(at(['policy', 'apply'], wrong));
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toMatch(/permission/);
    expect(refused.err).toMatch(/rateLimit/);
  });
});

describe('policy files', () => {
  test('the example of this repository can be compared and applied, and then has no differences', async () => {
    const path = fileURLToPath(new URL('../../examples/policies.yaml', import.meta.url));
    const diff = await tollgate(at(['policy', 'diff'], path));
    expect(diff).toMatchObject({ code: 2, err: '' });
    expect(diff.out).toMatch(/^\+ workspace\n/);
    expect(await tollgate(at(['policy', 'apply'], path))).toMatchObject({ code: 0, out: diff.out });
    expect(await tollgate(at(['policy', 'diff'], path))).toMatchObject({ code: 0, out: '' });
  });

  test('several files, a folder with folders, JSON and standard input are one set', async () => {
    const root = folder();
    mkdirSync(join(root, 'roles'));
    file('rolePolicies: { member: { defaults: { api: { rateLimit: 1 } } } }', 'member.yml', join(root, 'roles'));
    file('{"rolePolicies": {"admin": {"defaults": {"api": {"rateLimit": 2}}}}}', 'admin.json', root);
    file('not: [policy', '.hidden.yaml', root);
    file('not: [policy', 'README.md', root);
    const stdin = 'workspacePolicy: { defaults: { api: { rateLimit: 3 } } }';
    const diff = await tollgate(['policy', 'diff', '--json', '-f', root, '-f', '-'], { stdin });
    expect(jsonOf(diff)['changes']).toHaveLength(3);
  });

  test('the same document in two files is refused with both names', async () => {
    const [one, two] = [file('rolePolicies: { member: {} }', 'one.yaml'), file('rolePolicies: { member: {} }', 'two.yaml')];
    expect(await tollgate(['policy', 'diff', '-f', one, two])).toEqual({
      code: 1,
      out: '',
      err: `tollgate: rolePolicies/member is in both ${one} and ${two}; keep one\n`,
    });
  });

  test.each([
    ['a syntax error', 'workspacePolicy:\n  defaults: {api: [}\n', /:2:\d+: /],
    ['a tab as indent', 'workspacePolicy:\n\tmode: audit\n', /:2:1: /],
    ['a key twice', 'workspacePolicy:\n  mode: audit\n  mode: enforce\n', /:3:3: .*unique/],
    ['__proto__', 'rolePolicies:\n  member:\n    tools:\n      __proto__: {}\n', /:4:7: __proto__ is not allowed as a key/],
    ['__proto__ in quotes', 'rolePolicies: { "__proto__": {} }', /:1:17: __proto__/],
    ['an unknown section', 'rolePolicy: {}\n', /:1:1: rolePolicy is no section; there are workspacePolicy, rolePolicies/],
    ['a key that is no text', 'workspacePolicy:\n  tools:\n    1.0: {}\n', /:3:5: the key 1\.0 is read as no text; write it in quotes/],
    ['a number that JSON has not', 'workspacePolicy:\n  x: .inf\n', /:2:6: \.inf is no number/],
    ['an unknown tag', 'workspacePolicy: !!js/function x\n', /:1:18: /],
    ['two documents', 'workspacePolicy: {}\n---\nrolePolicies: {}\n', /:2:1: a second document .* a file is one document; split it at ---/],
    ['a list', '- workspacePolicy\n', /:1:1: must be a mapping of workspacePolicy/],
    ['a section that is no mapping', 'rolePolicies: [member]\n', /rolePolicies must be a mapping/],
    ['nothing', '\n', / is empty/],
    ['deep nesting', `workspacePolicy: ${'['.repeat(200)}${']'.repeat(200)}`, /nested deeper than 64/],
    ['an alias of itself', 'workspacePolicy: &a\n  x: *a\n', /aliases/],
  ])('%s is refused with its place', async (_what, text, words) => {
    const path = file(text);
    const refused = await tollgate(at(['policy', 'diff'], path));
    expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringMatching(words) });
    expect(refused.err).toContain(path);
    expect(refused.err).not.toMatch(/\n +at /);
  });

  test('aliases are allowed, and bounded', async () => {
    const shared = 'rolePolicies:\n  member: &m { defaults: { api: { rateLimit: 1 } } }\n  admin: *m\n';
    expect(jsonOf(await tollgate(at(['policy', 'diff', '--json'], file(shared))))['changes']).toHaveLength(2);
    const level = (n: number): string => `  l${n}: &l${n} [${Array.from({ length: 10 }, () => `*l${n - 1}`).join(', ')}]\n`;
    const laughs = `workspacePolicy:\n  l0: &l0 [lol]\n${Array.from({ length: 9 }, (_, at) => level(at + 1)).join('')}`;
    expect(await tollgate(at(['policy', 'diff'], file(laughs)))).toMatchObject({ code: 1, err: expect.stringContaining('aliases') });
  });

  test('a .json file must be JSON', async () => {
    expect(await tollgate(at(['policy', 'diff'], file('workspacePolicy: {}', 'x.json')))).toMatchObject({
      code: 1,
      err: expect.stringContaining('x.json: this is no JSON'),
    });
  });

  test('a missing file is named, and every file with a problem', async () => {
    expect(await tollgate(['policy', 'diff', '-f', '/nowhere/x.yaml'])).toMatchObject({
      code: 1,
      err: 'tollgate: there is no file /nowhere/x.yaml\n',
    });
    expect(await tollgate(['policy', 'diff', '-f', folder()])).toMatchObject({
      code: 1,
      err: expect.stringContaining('contains no .yaml'),
    });
    const [one, two] = [file('a: [', 'one.yaml'), file('b: {', 'two.yaml')];
    const { err } = await tollgate(['policy', 'diff', '-f', one, two]);
    expect(err).toContain(`  ${one}:`);
    expect(err).toContain(`  ${two}:`);
  });
});

describe('policy export', () => {
  test('an exported set, as YAML or as JSON, to standard output or a file, has no differences', async () => {
    await tollgate(at(['policy', 'apply'], file(policies)));
    const yaml = await tollgate(['policy', 'export']);
    expect(yaml.out).toContain('rolePolicies:\n  member:\n    tools:\n      github.push:\n        api:\n          permission: deny\n');
    expect(await tollgate(['policy', 'diff', '-f', '-'], { stdin: yaml.out })).toMatchObject({ code: 0 });
    const raw = await tollgate(['policy', 'export', '--json']);
    expect(jsonOf(raw)).toMatchObject({ revision: expect.any(Number), rolePolicies: { member: {} } });
    expect(await tollgate(['policy', 'diff', '-f', '-'], { stdin: raw.out })).toMatchObject({ code: 0 });
    const where = folder();
    for (const name of ['all.yaml', 'all.json']) {
      const path = join(where, name);
      expect(await tollgate(['policy', 'export', '-o', path])).toMatchObject({ code: 0, out: '', err: expect.stringContaining(path) });
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(existsSync(`${path}.partial`)).toBe(false);
      expect(await tollgate(at(['policy', 'diff'], path))).toMatchObject({ code: 0 });
    }
    expect(JSON.parse(readFileSync(join(where, 'all.json'), 'utf8'))).not.toHaveProperty('revision');
  });
});

describe('policy history and rollback', () => {
  test('history lists who changed what, and rollback restores a revision', async () => {
    const first = jsonOf(await tollgate(at(['policy', 'apply', '--json'], file(policies))));
    await tollgate(at(['policy', 'apply'], file('workspacePolicy: { defaults: { api: { rateLimit: 5 } } }')));
    const history = await tollgate(['policy', 'history']);
    expect(history).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^revision +at +by +action +document\n\d+ .* owner +update +workspace\n/),
    });
    const narrow = await tollgate(['policy', 'history', '--document', 'workspace', '--limit', '1', '--json']);
    expect(jsonOf(narrow)).toMatchObject({ history: [{ document: 'workspace', action: 'update' }], count: 1, next: expect.any(String) });
    const next = await tollgate([
      'policy',
      'history',
      '--document',
      'workspace',
      '--limit',
      '1',
      '--cursor',
      String(jsonOf(narrow)['next']),
    ]);
    expect(next.out).toMatch(/create +workspace/);

    const words = ['policy', 'rollback', String(first['revision'])];
    expect(await tollgate([...words, '--dry-run'])).toMatchObject({ code: 2, out: '~ workspace\n    defaults.api.rateLimit: 5 → 30\n' });
    expect(await tollgate(words)).toEqual({
      code: 1,
      out: '',
      err: 'tollgate: there is no terminal to ask for a confirmation; nothing was changed\n  to roll back, add --yes; to see the changes, add --dry-run\n',
    });
    expect(await tollgate([...words, '--yes'])).toMatchObject({ code: 0, out: '~ workspace\n    defaults.api.rateLimit: 5 → 30\n' });
    expect(await tollgate(at(['policy', 'diff'], file(policies)))).toMatchObject({ code: 0 });
    expect(await tollgate([...words, '--dry-run'])).toMatchObject({ code: 0 });
  });

  test('a revision that does not exist is refused', async () => {
    expect(await tollgate(['policy', 'rollback', 'yesterday'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('yesterday is not the number of a revision'),
    });
    expect(await tollgate(['policy', 'rollback', '999999', '--yes'])).toMatchObject({ code: 1 });
  });
});

describe('redaction as a file', () => {
  const redacting = (patterns: string): string => `
workspacePolicy:
  redaction:
    kinds: { ip_address: false }
    patterns: ${patterns}
    allow: [${'0a'.repeat(32)}]
    exceptions: { "crm.*": [email, employee_number] }
`;

  test('is applied and exported unchanged; a change of it is shown by its places', async () => {
    const folderOf = folder();
    expect(await tollgate(at(['policy', 'apply'], file(redacting('{ employee_number: "EMP-[0-9]{6}" }'))))).toMatchObject({ code: 0 });
    const exported = join(folderOf, 'exported.yaml');
    expect(await tollgate(['policy', 'export', '-o', exported])).toMatchObject({ code: 0 });
    expect(readFileSync(exported, 'utf8')).toContain('employee_number: EMP-[0-9]{6}');
    expect(await tollgate(at(['policy', 'diff'], exported))).toMatchObject({ code: 0, err: 'there are no differences\n' });
    expect(await tollgate(at(['policy', 'diff'], file(redacting('{ employee_number: "E[0-9]{6}" }'))))).toMatchObject({
      code: 2,
      out: '~ workspace\n    redaction.patterns.employee_number: "EMP-[0-9]{6}" → "E[0-9]{6}"\n',
    });
  });

  test('with an invalid pattern is refused with its place, and nothing changes', async () => {
    const refused = await tollgate(at(['policy', 'apply'], file(redacting('{ employee_number: "EMP-(" }'))));
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('workspacePolicy.redaction.patterns.employee_number is not an RE2 pattern'),
    });
    expect(jsonOf(await tollgate(['policy', 'export', '--json']))).toMatchObject({ workspacePolicy: {} });
  });
});

describe('explain', () => {
  test('of a call through a chain prints the layers of each agent, and which of them decides', async () => {
    const words = ['explain', '--tool', 'github.push', '--tier', 'api', '--role', 'member', '--agent', 'bot'];
    const { out } = await tollgate([...words, '--above', 'ide::api::root', 'ide::background::middle']);
    expect(out).toContain('layers of ide::api::root\n');
    expect(out).toContain('layers of ide::background::middle\n');
    expect(out).toContain('layers of the calling agent, broad to specific');
    expect(await tollgate([...words, '--above', 'root'])).toMatchObject({ code: 1, err: expect.stringContaining('above[0]') });
  });

  test('shows the decision, the rules, and what would have to change', async () => {
    await tollgate(at(['policy', 'apply'], file(policies)));
    const words = ['explain', '--tool', 'github.push', '--tier', 'api', '--role', 'member'];
    const denied = await tollgate(words);
    expect(denied.code).toBe(0);
    expect(denied.out).toMatch(/^deny {2}policy_denied/);
    expect(denied.out).toContain('role:member tools["github.push"].api  {"permission":"deny"}');
    expect(denied.out).toMatch(/would be allowed with\n {2}role:member .*tools/);
    expect(jsonOf(await tollgate([...words, '--json']))).toMatchObject({ decision: 'deny', layers: expect.any(Array) });
    expect(
      (await tollgate(['explain', '--tool', 'x', '--tier', 'api', '--sub', 'owner', '--agent', 'bot', '--client', 'ide'])).out,
    ).toMatch(/^allow/);
    expect((await tollgate(['explain', '--tool', 'x', '--tier', 'api', '--sub', 'owner', '--agent-type', 'ide::api::bot'])).out).toMatch(
      /^allow/,
    );
  });

  test('with --input it shows whether each case holds and what would be allowed; without it, that this depends', async () => {
    const cases = [
      { name: 'large', when: 'args.amount\n> 1000', permission: 'deny', reason: 'over 1000' },
      { name: 'noted', when: 'args.amount > 100', permission: 'allow', rateLimit: 5 },
    ];
    const body = { tools: { 'payments.transfer': { api: { permission: 'allow', cases } } } };
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body });
    const words = ['explain', '--tool', 'payments.transfer', '--tier', 'api', '--role', 'member'];
    const place = 'tools["payments.transfer"].api';
    const allowed = await tollgate([...words, '--input', '{"amount": 500}']);
    expect(allowed).toMatchObject({ code: 0, err: '' });
    expect(allowed.out.split('\n')).toEqual([
      `allow  allowed: the workspace allows api calls of "payments.transfer" (${place}.cases["noted"])`,
      `enforced  allow, at most 5 in a window, log; by workspace ${place}.cases["noted"]`,
      `shadow    allow, at most 5 in a window, log; by workspace ${place}.cases["noted"]`,
      'layers, broad to specific',
      `  workspace ${place}.cases["noted"]  {"permission":"allow","rateLimit":5}`,
      `    ${place}.cases["large"]  does not hold  {"permission":"deny","reason":"over 1000"}`,
      '      when args.amount\\n> 1000',
      `    ${place}.cases["noted"]  holds  {"permission":"allow","rateLimit":5}`,
      '      when args.amount > 100',
      '',
    ]);
    const denied = await tollgate([...words, '--input', '{"amount": 5000}']);
    expect(denied.out).toMatch(/^deny {2}policy_denied: .*: over 1000\n/);
    expect(denied.out).toContain(
      [
        'would be allowed without a change',
        `  a call of no case of workspace ${place}`,
        `  a call of workspace ${place}.cases["noted"], at most 5 in a window`,
        '',
      ].join('\n'),
    );
    const undecided = await tollgate([...words, '--input', '{}']);
    expect(undecided.out).toContain(`    ${place}.cases["large"]  undecided (absent: args.amount)`);
    expect(undecided.out).toContain(
      `  this call, if args.amount can be evaluated (absent) and workspace ${place}.cases["large"] does not hold`,
    );
    const any = await tollgate(words);
    expect(any.out).toMatch(/^depends {2}depends on the input, which these cases read: workspace /);
    expect(any.out).toContain(`    ${place}.cases["large"]  may hold; give --input`);
    expect(jsonOf(await tollgate([...words, '--input', '{"amount": 5000}', '--json']))).toMatchObject({
      decision: 'deny',
      layers: [{ cases: [{ result: 'holds' }, { result: 'holds' }] }, {}, {}],
      remedies: [{ kind: 'no_case' }, { kind: 'case' }],
    });
    expect(await tollgate([...words, '--input', '{amount: 5}'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--input must be JSON, such as \'{"amount": 500}\''),
    });
  });

  test('says how the call is redacted, and what its tool keeps', async () => {
    const redaction = { kinds: { iban: false }, patterns: { badge: 'B[0-9]{4}' }, exceptions: { 'crm.*': ['email', 'badge'] } };
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { defaults: { api: { transform: 'redact' } }, redaction } });
    const lineOf = async (tool: string) =>
      (await tollgate(['explain', '--tool', tool, '--tier', 'api', '--role', 'member'])).out.split('\n')[3];
    const said = 'redaction off: iban; own patterns: badge; values allowed: 0; this tool keeps';
    expect(await lineOf('crm.find')).toBe(`${said} badge, email by redaction.exceptions["crm.*"]`);
    expect(await lineOf('mail.send')).toBe(`${said} nothing`);
  });

  test('for an agent without a name, where such are denied, it says that one can be named', async () => {
    await rest.ask('PUT', '/acme/admin/workspacePolicy', { body: { unknownAgents: 'deny' } });
    const words = ['explain', '--tool', 'x', '--tier', 'api', '--role', 'member'];
    const nameless = await tollgate(words);
    expect(nameless).toMatchObject({ code: 0, err: 'the agent has no name; give one with --agent\n' });
    expect(nameless.out).toContain('unknownAgents: set "allow"\n');
    const named = await tollgate([...words, '--agent', 'bot']);
    expect(named).toMatchObject({ code: 0, err: '' });
    expect(named.out).toContain('set "allow", or register an agent "bot"');
  });

  test('an unknown member is named, with another way to ask', async () => {
    expect(await tollgate(['explain', '--tool', 'x', '--tier', 'api', '--sub', 'alice'])).toMatchObject({
      code: 1,
      err: 'tollgate: "alice" is not a member or service key of this workspace; use role instead\n',
    });
  });

  test('an incomplete question is refused with the missing part', async () => {
    expect(await tollgate(['explain', '--tool', 'x', '--tier', 'api'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--sub <uid> or --role <role>'),
    });
    expect(await tollgate(['explain', '--tool', 'x', '--tier', 'api', '--sub', 'a', '--role', 'member'])).toMatchObject({ code: 1 });
    expect(await tollgate(['explain', '--tool', 'x', '--tier', 'odd', '--sub', 'a'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('interactive'),
    });
    expect(
      await tollgate(['explain', '--tool', 'x', '--tier', 'api', '--sub', 'a', '--agent-type', 'a::api::', '--agent', 'b']),
    ).toMatchObject({ code: 1 });
  });
});

// `tollgate doctor`: which coding agents ask a sidecar here, and the proof that a denial blocks.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hosts } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { folder as casesFolder, recorded, startHosts } from '../sidecar/gateway/hosts/recorded.ts';
import { agent, key as compiledKey, keyText } from '../support/snapshots.ts';
import { closedOrigin, folder, jsonOf, run } from './cli.ts';

const key = keyText('key1');
const anybody = { agents: [agent({ id: 'other', name: 'other' })] };

// The program itself, from its sources.
const source = fileURLToPath(new URL('../../control-plane/cli/hook-main.ts', import.meta.url));
const tsx = import.meta.resolve('tsx');

/** A program that is started as `<self> hook <host>`. */
function program(home: string): string {
  const path = join(home, 'tollgate');
  writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' --import '${tsx}' --conditions=tollgate-source '${source}' "$@"\n`);
  chmodSync(path, 0o755);
  return `"${path}"`;
}

async function machine(where?: string) {
  const [home, cwd] = [folder(), folder()];
  const started = await startHosts(anybody);
  const url = where ?? (await started.app.listen({ host: '127.0.0.1', port: 0 }));
  const env = { PATH: '/usr/bin:/bin', HOME: home, TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key };
  const self = program(home);
  const cli = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    run(words, { env: { ...env, ...more }, home, cwd, self });
  return { ...started, home, cwd, url, cli };
}

test('a machine with none of the hosts is said to be one, and that is no failure', async () => {
  const { cli } = await machine();
  const { code, out } = await cli(['doctor']);
  expect(out).toContain('none of Claude Code, Codex, Cursor, Gemini CLI, Copilot CLI, OpenCode, Cline is on this machine');
  expect(out).toMatch(/^sidecar http:\S+: reachable; policy of revision 1, connected; the key from TOLLGATE_KEY is good$/m);
  expect(code).toBe(0);
  const { cli: without } = await machine(await closedOrigin());
  expect(await without(['doctor'])).toMatchObject({ code: 0, out: expect.stringContaining('nothing listens at') });
});

test('with the recorded hosts it proves a denial for each', async () => {
  const { cli, sidecar } = await machine();
  const answer = await cli(['doctor', '--recorded', casesFolder, '--json']);
  expect(answer.code).toBe(0);
  const proofs = jsonOf(answer)['recorded'];
  const wanted = recorded.filter(
    ({ input, name }) =>
      ('toolName' in input || 'tool_name' in input || 'tool' in input) &&
      !('toolResult' in input) &&
      /^(?:pre|before)/.test(name) &&
      name !== 'before-shell-execution',
  );
  expect(proofs).toEqual(
    wanted.map(({ host, name }) => ({
      name: `${host}/${name}.json`,
      proof: { denied: true, decided: true, words: 'denied by the sidecar' },
    })),
  );
  expect(new Set(wanted.map(({ host }) => host))).toEqual(new Set(hosts));
  const entries = await sidecar.entries();
  expect(entries).toHaveLength(wanted.length + 1);
  expect(entries.every(({ tool, decision }) => tool === 'tollgate.canary' && decision === 'deny')).toBe(true);
});

test('recorded hosts without a sidecar: calls are denied, and nothing is well', async () => {
  const { cli } = await machine(await closedOrigin());
  expect(await cli(['doctor', '--recorded', casesFolder])).toMatchObject({ code: 1, out: expect.stringContaining('every call is denied') });
  expect(await cli(['doctor', '--recorded', folder()])).toMatchObject({ code: 1, err: expect.stringContaining('no recorded input') });
});

describe.each(hosts)('%s', (host) => {
  test('is found, is missing its hooks, and once it has them the canary is denied by what they start', async () => {
    const { cli, home, sidecar } = await machine();
    mkdirSync(join(home, host === 'opencode' ? '.config/opencode' : `.${host.split('-')[0] ?? host}`), { recursive: true });
    const before = await cli(['doctor']);
    expect(before).toMatchObject({ code: 2, out: expect.stringContaining(`tollgate hooks install ${host}`) });
    expect(await cli(['hooks', 'install', host])).toMatchObject({ code: 0 });
    const after = await cli(['doctor']);
    expect(after.out).toContain('the canary was denied, so a denial blocks');
    expect(after.code).toBe(0);
    expect((await sidecar.entries()).filter(({ client }) => client?.name === host).map(({ tool }) => tool)).toContain('tollgate.canary');
  });
});

test('hooks that let calls through, for want of a program or a key over HTTP, are called what they are', async () => {
  const { cli, home } = await machine();
  await cli(['hooks', 'install', 'codex']);
  writeFileSync(join(home, 'tollgate'), '#!/bin/sh\nexit 127\n');
  expect(await cli(['doctor'])).toMatchObject({ code: 1, out: expect.stringContaining('A CALL WOULD RUN') });
  const { cli: http } = await machine();
  await http(['hooks', 'install', 'claude-code', '--http']);
  expect(await http(['doctor'])).toMatchObject({ code: 0 });
  expect(await http(['doctor'], { TOLLGATE_KEY: keyText('nobody') })).toMatchObject({
    code: 1,
    out: expect.stringContaining('key_revoked'),
  });
});

describe('hooks that their host would not ask before every call are not vouched for', () => {
  const edited = (from: string, to: string) => (text: string) => {
    expect(text).toContain(from);
    return text.replace(from, to);
  };
  test.each([
    ['claude-code', '.claude/settings.json', () => '{"disableAllHooks": true}', '"disableAllHooks": true'],
    ['claude-code', 'project/.claude/settings.json', () => '{"disableAllHooks": true}', '"disableAllHooks": true'],
    ['claude-code', 'project/.claude/settings.local.json', () => '{"disableAllHooks": true}', 'settings.local.json'],
    ['claude-code', 'project/.claude/settings.local.json', () => '{', 'cannot be read'],
    ['claude-code', '.claude/settings.json', edited('"matcher": "*"', '"matcher": "NeverTool"'), '"NeverTool"'],
    ['claude-code', '.claude/settings.json', edited('"type": "command"', '"async": true, "type": "command"'), '"async"'],
    ['claude-code', '.claude/settings.json', edited('"type": "command"', '"if": "Bash(rm:*)", "type": "command"'), 'Bash(rm:*)'],
    ['gemini-cli', '.gemini/settings.json', edited('{', '{"tools": {"enableHooks": false},'), '"tools.enableHooks": false'],
    ['gemini-cli', '.gemini/settings.json', edited('{', '{"hooksConfig": {"enabled": false},'), '"hooksConfig.enabled": false'],
    ['gemini-cli', 'project/.gemini/settings.json', () => '{"hooksConfig": {"disabled": ["tollgate"]}}', '"hooksConfig.disabled"'],
    ['gemini-cli', '.gemini/settings.json', edited('"hooks": [', '"matcher": "write_file", "hooks": ['), 'write_file'],
    ['codex', '.codex/config.toml', (text) => `[features]\nhooks = false # no\n${text}`, 'features.hooks = false'],
    ['codex', '.codex/config.toml', (text) => `features = { web = true, codex_hooks = false }\n${text}`, 'features.codex_hooks = false'],
    ['codex', '.codex/config.toml', (text) => `allow_managed_hooks_only = true\n${text}`, 'allow_managed_hooks_only = true'],
    ['codex', 'project/.codex/config.toml', () => 'features.hooks = false\n', 'features.hooks = false'],
    ['codex', '.codex/config.toml', edited('[[hooks.PreToolUse]]', '[[hooks.PreToolUse]]\nmatcher = "^NeverTool$"'), 'NeverTool'],
    ['cursor', '.cursor/hooks.json', edited('"timeout"', '"matcher": "NeverTool", "timeout"'), '"NeverTool"'],
    ['copilot-cli', '.copilot/hooks/tollgate.json', edited('{', '{"disableAllHooks": true,'), '"disableAllHooks": true'],
    ['copilot-cli', 'project/.github/copilot/settings.json', () => '{"disableAllHooks": true}', '"disableAllHooks": true'],
    ['opencode', '.config/opencode/plugins/tollgate.js', edited('10000', '9999'), 'the file is not as this tollgate writes it'],
    ['opencode', 'project/.opencode/plugins/tollgate.js', (text) => text, 'OPENCODE_PURE'],
    ['cline', '.cline/plugins/tollgate.js', edited('skip: true', 'skip: false'), 'the file is not as this tollgate writes it'],
    [
      'cline',
      '.cline/data/settings/global-settings.json',
      () => '{"disabledPlugins": ["/home/ann/.cline/plugins/tollgate.js"]}',
      '"disabledPlugins"',
    ],
  ] as const satisfies readonly (readonly [string, string, (text: string) => string, string])[])(
    '%s, by %s',
    async (host, file, edit, words) => {
      const { cli, home, cwd } = await machine();
      await cli(['hooks', 'install', host]);
      const path = file.startsWith('project/') ? join(cwd, file.slice('project/'.length)) : join(home, file);
      mkdirSync(dirname(path), { recursive: true });
      const before = existsSync(path) ? readFileSync(path, 'utf8') : '';
      writeFileSync(path, edit(before));
      if (file === '.claude/settings.json' && !edit(before).includes('hooks"')) await cli(['hooks', 'install', host]);
      const { code, out } = await cli(['doctor'], words === 'OPENCODE_PURE' ? { OPENCODE_PURE: '1' } : {});
      expect(out).toContain('CALLS WOULD RUN UNASKED');
      expect(out).toContain(words);
      expect(out).not.toContain('a denial blocks');
      expect(code).toBe(1);
    },
  );

  test('what switches off something else, or says that hooks are on, is no reason', async () => {
    const { cli, home } = await machine();
    mkdirSync(join(home, '.codex'));
    mkdirSync(join(home, '.claude'));
    writeFileSync(
      join(home, '.codex/config.toml'),
      '[features]\nhooks = true\nweb = false\n[hooks.state."x:pre_tool_use:0:0"]\nenabled = true\n',
    );
    writeFileSync(join(home, '.claude/settings.json'), '{"disableAllHooks": false}');
    for (const host of ['codex', 'claude-code']) await cli(['hooks', 'install', host]);
    expect(await cli(['doctor'])).toMatchObject({ code: 0, out: expect.not.stringContaining('UNASKED') });
  });
});

test('a key without the scope, and settings that cannot be read, are told with their reason', async () => {
  const { cli, home, sidecar } = await machine();
  sidecar.take({ ...anybody, keys: [compiledKey({ scopes: ['policies.read'] })] });
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), '{"hooks": [}');
  const { code, out } = await cli(['doctor', '--recorded', casesFolder]);
  expect(code).toBe(1);
  expect(out).toContain('key_scope');
  expect(out).toMatch(/settings\.json cannot be edited, and is left as it is: line 1, column \d+/);
  expect(out).not.toContain(key);
});

// `tollgate doctor`: reports which coding agents ask a sidecar here, and proves that a denial blocks.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hosts } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { hookHash, stateKey } from '../../cli/hooks/codex-trust.ts';
import { hostSettings } from '../../cli/hooks/host-settings.ts';
import { placesIn } from '../../cli/hooks/hook-places.ts';
import { parseToml } from '../../cli/hooks/edit-toml.ts';
import { folder as casesFolder, recorded, startHosts } from '../sidecar/doors/coding-agents/recorded.ts';
import { agent, key as compiledKey, keyText } from '../support/snapshots.ts';
import { closedOrigin, folder, jsonOf, run } from './cli.ts';

const key = keyText('key1');
const anybody = { agents: [agent({ id: 'other', name: 'other' })] };

// The program itself, from its sources.
const source = fileURLToPath(new URL('../../cli/hook-main.ts', import.meta.url));
const tsx = import.meta.resolve('tsx');

/** Makes Codex trust every hook of its settings, in the form in which Codex records it. */
function trustHooks(home: string, change: (lines: string) => string = (lines) => lines): void {
  const path = join(home, '.codex/config.toml');
  const lines = placesIn(parseToml(readFileSync(path, 'utf8'))).map(
    (place) => `\n[hooks.state."${stateKey(path, place)}"]\ntrusted_hash = "${hookHash(place)}"\n`,
  );
  writeFileSync(path, `${readFileSync(path, 'utf8')}\n[hooks.state]\n${change(lines.join(''))}`);
}

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

test('a machine with no host is reported as that, and this is no failure', async () => {
  const { cli } = await machine();
  const { code, out } = await cli(['doctor']);
  expect(out).toContain(
    'none of Claude Code, Codex, Cursor, Gemini CLI, Copilot CLI, OpenCode, Cline, Windsurf, Aider, Qwen Code was found on this machine',
  );
  expect(out).toMatch(/^sidecar http:\S+: reachable; policy of revision 1, connected; the key from TOLLGATE_KEY is good$/m);
  expect(code).toBe(0);
  const { cli: without } = await machine(await closedOrigin());
  expect(await without(['doctor'])).toMatchObject({ code: 0, out: expect.stringContaining('no program listens at') });
});

test('a sidecar is found and proved over its Unix domain socket', async () => {
  const path = join(folder(), 'it');
  const { cli, app } = await machine(`unix:${path}`);
  const words = (text: string) => ({ code: 0, out: expect.stringContaining(`sidecar unix:${path}: ${text}`) });
  expect(await cli(['doctor'])).toMatchObject(words(`unix:${path} cannot be reached`));
  await app.listen({ path });
  expect(await cli(['doctor'])).toMatchObject(words('reachable; policy of revision 1, connected; the key from TOLLGATE_KEY is good'));
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

test('recorded hosts without a sidecar: calls are denied, and doctor reports a failure', async () => {
  const { cli } = await machine(await closedOrigin());
  expect(await cli(['doctor', '--recorded', casesFolder])).toMatchObject({ code: 1, out: expect.stringContaining('every call is denied') });
  expect(await cli(['doctor', '--recorded', folder()])).toMatchObject({ code: 1, err: expect.stringContaining('no recorded input') });
});

describe.each(hosts)('%s', (host) => {
  test('is found with its hooks missing, and after install the command of the hooks denies the canary', async () => {
    const { cli, home, sidecar } = await machine();
    mkdirSync(join(home, host === 'opencode' ? '.config/opencode' : `.${host.split('-')[0] ?? host}`), { recursive: true });
    const before = await cli(['doctor']);
    expect(before).toMatchObject({ code: 2, out: expect.stringContaining(`tollgate hooks install ${host}`) });
    expect(await cli(['hooks', 'install', host])).toMatchObject({ code: 0 });
    if (host === 'codex') trustHooks(home);
    const after = await cli(['doctor']);
    expect(after.out).toContain('the test call was denied, so a denial blocks');
    expect(after.code).toBe(0);
    expect((await sidecar.entries()).filter(({ client }) => client?.name === host).map(({ tool }) => tool)).toContain('tollgate.canary');
  });
});

test('hooks that let calls through, because a program or a key over HTTP is missing, are reported as that', async () => {
  const { cli, home } = await machine();
  await cli(['hooks', 'install', 'codex']);
  trustHooks(home);
  // It prints nothing, so Codex has no reason to show, and runs the call.
  writeFileSync(join(home, 'tollgate'), '#!/bin/sh\nexit 127\n');
  expect(await cli(['doctor'])).toMatchObject({ code: 1, out: expect.stringContaining('A CALL WOULD RUN') });
  const { cli: http } = await machine();
  await http(['hooks', 'install', 'claude-code', '--http']);
  expect(await http(['doctor'])).toMatchObject({ code: 0 });
  expect(await http(['doctor'], { TOLLGATE_KEY: keyText('absent') })).toMatchObject({
    code: 1,
    out: expect.stringContaining('key_revoked'),
  });
});

describe('a held call', () => {
  const agents = ['claude-code', 'copilot-cli', 'opencode'] as const;

  test('is denied by each host at the end of the wait, and if no answer comes', async () => {
    const { cli } = await machine();
    for (const host of agents) expect(await cli(['hooks', 'install', host, '--wait', '1'])).toMatchObject({ code: 0 });
    await cli(['hooks', 'install', 'cline']);
    const { out, code } = await cli(['doctor', '--held']);
    expect(out.match(/a call waits 1 s for a person; a held call was denied at the end of the wait/g)).toHaveLength(agents.length);
    expect(out.match(/and was denied when no answer came; the host waits 11 s for the hook/g)).toHaveLength(2);
    expect(out).toContain('a call waits 0 s for a person');
    expect(code).toBe(0);
  });

  test('whose host does not wait so long is reported as one that would run', async () => {
    const { cli, home } = await machine();
    await cli(['hooks', 'install', 'claude-code', '--wait', '30']);
    const path = join(home, '.claude/settings.json');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll('"timeout": 40', '"timeout": 1'));
    // The line would end after 30 s. The program of the hook is replaced, so that the test does not wait for it.
    writeFileSync(join(home, 'tollgate'), '#!/bin/sh\nexec sleep 2\n');
    expect(await cli(['doctor', '--held', '--json'])).toMatchObject({ code: 1 });
    const { out } = await cli(['doctor', '--held']);
    expect(out).toContain('A CALL WOULD RUN if a person denies it at the end of the wait: the host waits 1 s for the hook');
    expect(out).toContain('the host waits 1 s for the hook ("timeout": 1), which may take 34 s; correct is 40');
  });

  test('of a hook without a wait is held for 2 s', async () => {
    const { cli, home } = await machine();
    await cli(['hooks', 'install', 'claude-code']);
    const path = join(home, '.claude/settings.json');
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(' --wait-ms 50000', '').replaceAll('"timeout": 60', '"timeout": 10'));
    expect(await cli(['doctor', '--held'])).toMatchObject({ code: 0, out: expect.stringContaining('the hook names no wait') });
  });
});

describe('hooks that their host would not run before every call are not confirmed', () => {
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
    ['claude-code', '.claude/settings.json', edited('"type": "command"', '"asyncRewake": true, "type": "command"'), '"asyncRewake"'],
    ['claude-code', '.claude/settings.json', edited('"timeout": 60', '"timeout": 2'), '2 s for the hook'],
    ['claude-code', '.claude/settings.json', edited('|| exit 2', '|| true'), 'does not end with the exit code of tollgate: "|| true"'],
    ['claude-code', '.claude/settings.json', edited('|| exit 2', '; true'), 'does not end with the exit code of tollgate: "; true"'],
    ['claude-code', '.claude/settings.json', edited('|| exit 2', '| tee /dev/null'), '"| tee /dev/null"'],
    ['claude-code', '.claude/settings.json', edited('"command": "', '"command": "true || '), 'runs "true" before tollgate'],
    ['gemini-cli', '.gemini/settings.json', edited('"timeout": 60000', '"timeout": 10'), 'correct is 60000'],
    ['copilot-cli', '.copilot/hooks/tollgate.json', edited('"timeoutSec": 60', '"timeoutSec": 1'), '"timeoutSec": 1'],
    ['copilot-cli', '.copilot/hooks/tollgate.json', edited('"bash": "', '"bash": "true #'), 'does not only start tollgate'],
    ['codex', '.codex/config.toml', edited('timeout = 60', 'timeout = 3'), '3 s for the hook'],
    ['cursor', '.cursor/hooks.json', edited('"failClosed": true', '"failClosed": false'), '"failClosed" is not true'],
    ['cline', '.cline/plugins/tollgate.js', edited('hook cline', 'hook cline | cat; true #'), '"| cat ; true"'],
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
    [
      'opencode',
      '.config/opencode/plugins/tollgate.js',
      edited('waitMs = 60000', 'waitMs = 59999'),
      'the file differs from what this tollgate writes',
    ],
    ['opencode', 'project/.opencode/plugins/tollgate.js', (text) => text, 'OPENCODE_PURE'],
    ['cline', '.cline/plugins/tollgate.js', edited('skip: true', 'skip: false'), 'the file differs from what this tollgate writes'],
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
      expect(out).toContain('CALLS WOULD RUN WITHOUT A DECISION');
      expect(out).toContain(words);
      expect(out).not.toContain('a denial blocks');
      expect(code).toBe(1);
    },
  );

  test('a setting that disables something else, or that enables hooks, is no reason', async () => {
    const { cli, home } = await machine();
    mkdirSync(join(home, '.codex'));
    mkdirSync(join(home, '.claude'));
    writeFileSync(
      join(home, '.codex/config.toml'),
      '[features]\nhooks = true\nweb = false\n[hooks.state."x:pre_tool_use:0:0"]\nenabled = true\n',
    );
    writeFileSync(join(home, '.claude/settings.json'), '{"disableAllHooks": false}');
    for (const host of ['codex', 'claude-code']) await cli(['hooks', 'install', host]);
    trustHooks(home, (lines) => lines.replace('\n[hooks.state]\n', ''));
    expect(await cli(['doctor'])).toMatchObject({ code: 0, out: expect.not.stringContaining('UNASKED') });
  });
});

test.each([
  ['its key is another variable', 'MY_KEY', ['MY_KEY'], { MY_KEY: key }, null],
  ['its key is not set', 'MY_KEY', ['MY_KEY'], {}, '$MY_KEY of the header Authorization is not set'],
  ['its key is not allowed', 'TOLLGATE_KEY', [], {}, 'sent empty; add it to "allowedEnvVars" of the hook'],
] as const)('a hook over HTTP is tested with the headers that it sends itself: %s', async (_, variable, allowed, more, words) => {
  const { cli, home } = await machine();
  await cli(['hooks', 'install', 'claude-code', '--http']);
  const path = join(home, '.claude/settings.json');
  const text = readFileSync(path, 'utf8').replaceAll('$TOLLGATE_KEY', `$${variable}`);
  writeFileSync(path, text.replaceAll(/"allowedEnvVars": \[[^\]]*\]/g, `"allowedEnvVars": ${JSON.stringify(allowed)}`));
  const { code, out } = await cli(['doctor'], more);
  const blocks = 'so a denial blocks';
  expect({ code, out }).toEqual({ code: words === null ? 0 : 1, out: expect.stringContaining(words ?? blocks) });
  if (words !== null) expect(out).not.toContain(blocks);
});

describe('a line for PowerShell', () => {
  const powershellMachine = async () => {
    const made = await machine();
    await made.cli(['hooks', 'install', 'claude-code']);
    const path = join(made.home, '.claude/settings.json');
    const guard = '; if ($LASTEXITCODE -ne 0) { exit 2 }';
    const text = readFileSync(path, 'utf8')
      .replaceAll('"command": "', '"shell": "powershell", "command": "& ')
      .replaceAll(' || exit 2', guard);
    writeFileSync(path, text);
    return made;
  };

  test('is not proven where PowerShell is not installed', async () => {
    const { cli } = await powershellMachine();
    const { code, out } = await cli(['doctor'], { PATH: '/nowhere' });
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringContaining('NOT PROVEN: the host starts this hook with pwsh or powershell, and neither is on PATH'),
    });
    expect(out).not.toContain('a denial blocks');
  });

  test('is proven by PowerShell, which receives the line unchanged', async () => {
    const { cli, sidecar } = await powershellMachine();
    const bin = folder();
    // The script does what PowerShell would do with our guarded line, and rejects every other.
    const script = `[ "$1 $2 $3" = "-NoProfile -NonInteractive -Command" ] || exit 9
line="\${4#& }"; start="\${line%%; if (*}"; [ "$line" = "$start; if (\\$LASTEXITCODE -ne 0) { exit 2 }" ] || exit 8
eval "$start" || exit 2`;
    writeFileSync(join(bin, 'pwsh'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const { code, out } = await cli(['doctor'], { PATH: `${bin}:/usr/bin:/bin` });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('the test call was denied, so a denial blocks') });
    expect((await sidecar.entries()).filter(({ client }) => client?.name === 'claude-code')).not.toEqual([]);
  });
});

describe('Codex runs what its user has trusted', () => {
  const codex = async () => {
    const made = await machine();
    await made.cli(['hooks', 'install', 'codex']);
    return made;
  };
  test.each([
    ['nothing was trusted', null, 'has not trusted this hook yet (PreToolUse): open /hooks in Codex and trust it'],
    [
      'one is disabled',
      (lines: string) => lines.replace('trusted_hash', 'enabled = false\ntrusted_hash'),
      'is disabled in Codex (PreToolUse)',
    ],
    ['it was another hook', (lines: string) => lines.replace(/sha256:../, 'sha256:00'), 'an earlier form of this hook (PreToolUse)'],
    [
      'outputs are not asked about',
      (lines: string) => lines.replace('post_tool_use:0', 'post_tool_use:1'),
      'not trusted this hook yet (PostToolUse)',
    ],
  ] as const)('%s', async (_, change, words) => {
    const { cli, home } = await codex();
    if (change !== null) trustHooks(home, change);
    const { code, out } = await cli(['doctor']);
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining(words) });
    expect(out).not.toContain('a denial blocks');
  });

  test('in a folder doctor asks whether Codex reads its settings', async () => {
    const { cli, home, cwd } = await machine();
    await cli(['hooks', 'install', 'codex', '--project']);
    expect((await cli(['doctor'])).out).toContain('Codex does not read the settings of this folder');
    mkdirSync(join(home, '.codex'));
    writeFileSync(join(home, '.codex/config.toml'), `[projects."${dirname(cwd)}"]\ntrust_level = "trusted"\n`);
    expect((await cli(['doctor'])).out).toContain('has not trusted this hook yet');
  });

  test('where Codex itself answers, its answer is used', async () => {
    const { cli, home } = await codex();
    const path = join(home, '.codex/config.toml');
    const bin = folder();
    const say = (enabled: boolean, trustStatus: string): void => {
      const hooks = ['pre', 'post'].map((phase) => ({ key: `${path}:${phase}_tool_use:0:0`, enabled, trustStatus }));
      const answer = JSON.stringify({ id: 2, result: { data: [{ cwd: '/', hooks }] } });
      writeFileSync(
        join(bin, 'codex'),
        `#!/bin/sh\n[ "$1" = --version ] && echo codex-cli 0.169.0 && exit\nread a; echo '{"id":1,"result":{}}'; read b; read c; echo '${answer}'; read d\n`,
        { mode: 0o755 },
      );
    };
    const PATH = `${bin}:/usr/bin:/bin`;
    say(true, 'trusted');
    expect(await cli(['doctor'], { PATH })).toMatchObject({ code: 0, out: expect.stringContaining('a denial blocks') });
    say(false, 'trusted');
    expect(await cli(['doctor'], { PATH })).toMatchObject({ code: 1, out: expect.stringContaining('is disabled in Codex') });
    say(true, 'modified');
    expect(await cli(['doctor'], { PATH })).toMatchObject({ code: 1, out: expect.stringContaining('an earlier form of this hook') });
    writeFileSync(join(bin, 'codex'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect(await cli(['doctor'], { PATH })).toMatchObject({ code: 1, out: expect.stringContaining('has not trusted') });
  });

  // Recorded from `hooks/list` of Codex 0.169.0.
  test('the digest is that of Codex 0.169', () => {
    const handler = (command: string, more = {}) => ({ type: 'command', command, ...more });
    const place = { event: 'PreToolUse', group: 0, at: 0 };
    expect(hookHash({ ...place, handler: handler('echo hi', { timeout: 10 }), table: {} })).toBe(
      'sha256:7a71ee914aae1e8851a62cc0bb833b0269c1789a3d6103a49a5e6544a18c5fbc',
    );
    expect(hookHash({ ...place, handler: handler('echo two'), table: { matcher: 'Bash' } })).toBe(
      'sha256:159f40a5d34bbd92562c92c2f03eb4f5d1bb453143f2f98c8a3316e231825cf4',
    );
  });
});

describe('where the program of the hook is missing', () => {
  test.each(hosts.filter((host) => hostSettings[host].deniesByItself !== true))(
    'the line that %s runs denies, or doctor reports that it would not',
    async (host) => {
      const { cli, home, cwd } = await machine();
      await cli(['hooks', 'install', host]);
      if (host === 'codex') trustHooks(home);
      expect((await cli(['doctor'])).out).not.toContain('is gone');
      const path = hostSettings[host].file('user', { env: {}, home }, cwd);
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(/ \|\| (?:exit 2|echo '[^']*')/g, ''));
      const { code, out } = await cli(['doctor']);
      expect(out).toContain(`if the program of the hook is missing: run tollgate hooks install ${host} again`);
      expect(code).toBe(1);
    },
  );

  test('a variable before the program that also holds its path is not the program', async () => {
    const { cli, home } = await machine();
    const PATH = `${home}:/usr/bin:/bin`;
    const lineOf = async (line: string): Promise<string> => {
      const path = join(home, '.claude/settings.json');
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: line }] }] } }));
      return (await cli(['doctor'], { PATH })).out;
    };
    const line = 'TOLLGATE_CA="/etc/tollgate/ca.pem" tollgate hook claude-code';
    for (const out of [await lineOf(line), await lineOf(`${line} || exit 2`)]) expect(out).toContain('a denial blocks');
    expect(await lineOf(line)).toContain('if the program of the hook is missing: run tollgate hooks install claude-code again');
    expect(await lineOf(`${line} || exit 2`)).not.toContain('is gone');
  });
});

test('another version of the host than the hooks were installed for is reported, and an older one is no proof', async () => {
  const { cli } = await machine();
  const bin = folder();
  const PATH = `${bin}:/usr/bin:/bin`;
  const isNow = (version: string): void => writeFileSync(join(bin, 'gemini'), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  isNow('0.61.0');
  await cli(['hooks', 'install', 'gemini-cli'], { PATH });
  expect((await cli(['doctor'], { PATH })).out).not.toContain('the hooks say');
  isNow('0.70.1');
  expect(await cli(['doctor'], { PATH })).toMatchObject({
    code: 0,
    out: expect.stringContaining(
      'Gemini CLI is 0.70.1 now, and the hooks were installed for 0.61.0: run tollgate hooks install gemini-cli again',
    ),
  });
  isNow('0.9.0');
  expect(await cli(['doctor'], { PATH })).toMatchObject({
    code: 1,
    out: expect.stringContaining('CALLS WOULD RUN WITHOUT A DECISION: Gemini CLI is 0.9.0'),
  });
});

test('agents without our hooks are named', async () => {
  const { cli, home } = await machine();
  mkdirSync(join(home, '.codeium/windsurf'), { recursive: true });
  expect(await cli(['doctor'])).toMatchObject({
    code: 2,
    out: expect.stringMatching(/Windsurf: found by .*\n {2}tollgate has no hooks for it/),
  });
});

test('a key without the scope, and settings that cannot be read, are reported with the reason', async () => {
  const { cli, home, sidecar } = await machine();
  sidecar.take({ ...anybody, keys: [compiledKey({ scopes: ['policies.read'] })] });
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/settings.json'), '{"hooks": [}');
  const { code, out } = await cli(['doctor', '--recorded', casesFolder]);
  expect(code).toBe(1);
  expect(out).toContain('key_scope');
  expect(out).toMatch(/settings\.json cannot be edited, and is not changed: line 1, column \d+/);
  expect(out).not.toContain(key);
});

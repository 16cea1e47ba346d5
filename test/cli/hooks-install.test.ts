// Hooks in the settings of hosts: existing content stays unchanged, a second install changes nothing, and uninstall
// restores the former state.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { hosts, type HostName } from '@tollgate/proto/contract';
import { describe, expect, test } from 'vitest';
import { hookHash, stateKey } from '../../cli/hooks/codex-trust.ts';
import { isOurLine } from '../../cli/hooks/command-line.ts';
import { placesIn } from '../../cli/hooks/hook-places.ts';
import { putTables, removeTables } from '../../cli/hooks/settings-toml.ts';
import { parseToml } from '../../cli/hooks/edit-toml.ts';
import { parseJsonc, valueOf } from '../../cli/hooks/edit-jsonc.ts';
import { keyText } from '../support/snapshots.ts';
import { folder, jsonOf, run } from './cli.ts';

const env = { TOLLGATE_KEY: keyText('key1') };
const self = '"/usr/bin/node" "/opt/tollgate/bin.js"';

const places: Readonly<Record<HostName, readonly [user: string, project: string]>> = {
  'claude-code': ['.claude/settings.json', '.claude/settings.json'],
  codex: ['.codex/config.toml', '.codex/config.toml'],
  cursor: ['.cursor/hooks.json', '.cursor/hooks.json'],
  'gemini-cli': ['.gemini/settings.json', '.gemini/settings.json'],
  'copilot-cli': ['.copilot/hooks/tollgate.json', '.github/hooks/tollgate.json'],
  opencode: ['.config/opencode/plugins/tollgate.js', '.opencode/plugins/tollgate.js'],
  cline: ['.cline/plugins/tollgate.js', '.cline/plugins/tollgate.js'],
};

function machine() {
  const [home, cwd] = [folder(), folder()];
  const hooks = (verb: string, host: string, ...more: readonly string[]) => run(['hooks', verb, host, ...more], { env, home, cwd, self });
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
    return join(home, path);
  };
  const read = (path: string): string => readFileSync(join(home, path), 'utf8');
  return { home, cwd, hooks, write, read };
}

describe.each(hosts)('%s', (host) => {
  const [user, project] = places[host];

  test('install writes the hooks and the key, a second install changes nothing, and uninstall leaves nothing', async () => {
    const { home, hooks, read } = machine();
    expect(await hooks('install', host)).toMatchObject({ code: 0, out: expect.stringContaining(join(home, user)) });
    const text = read(user);
    expect(text).toContain(`hook ${host}`);
    expect(text).not.toContain('gsk_');
    const kept = join(home, '.config/tollgate/sidecar.json');
    expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual({ sidecar: 'http://127.0.0.1:9090', key: env.TOLLGATE_KEY });
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(jsonOf(await hooks('install', host, '--json'))).toMatchObject({ changed: false });
    expect(read(user)).toBe(text);
    expect(await hooks('uninstall', host)).toMatchObject({ code: 0 });
    expect(readdirSync(home)).toEqual([]);
    expect(jsonOf(await hooks('uninstall', host, '--json'))).toMatchObject({ changed: false });
    expect(readdirSync(home)).toEqual([]);
  });

  test('hooks of a project hold no path and no key of this machine', async () => {
    const { home, cwd, hooks } = machine();
    expect(await hooks('install', host, '--project')).toMatchObject({ code: 0 });
    const text = readFileSync(join(cwd, project), 'utf8');
    expect(text).toContain(`tollgate hook ${host}`);
    expect(text).not.toMatch(/\/usr\/bin|\/opt|gsk_/);
    expect(existsSync(join(home, '.config/tollgate/sidecar.json'))).toBe(false);
    expect(await hooks('uninstall', host, '--project')).toMatchObject({ code: 0 });
    expect([readdirSync(cwd), readdirSync(home)]).toEqual([[], []]);
  });

  test('a file that cannot be parsed is refused with the place of the error, and stays unchanged', async () => {
    const { home, hooks, write, read } = machine();
    const broken = host === 'codex' ? 'model = "gpt\n' : '{\n  "hooks": {"a" 1}\n}\n';
    write(user, broken);
    const isWhole = host === 'opencode' || host === 'cline';
    const place = host === 'codex' ? 'line 1, column 13' : isWhole ? 'tollgate did not write this file' : 'line 2, column 17';
    expect(await hooks('install', host)).toMatchObject({ code: 1, err: expect.stringContaining(place) });
    expect(await hooks('install', host)).toMatchObject({ err: expect.stringContaining(user) });
    expect(read(user)).toBe(broken);
    expect(readdirSync(dirname(join(home, user)))).toEqual([user.split('/').at(-1)]);
  });

  test('another command replaces the previous one', async () => {
    const { home, cwd, hooks, read } = machine();
    await hooks('install', host);
    await run(['hooks', 'install', host], { env, home, cwd, self: '"/elsewhere/node" "/elsewhere/bin.js"' });
    expect(read(user)).toContain('/elsewhere/bin.js');
    expect(read(user)).not.toContain('/opt/tollgate');
    await hooks('uninstall', host);
    expect(existsSync(join(home, user))).toBe(false);
  });
});

const claude = `{
  // how I like it
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [{ "type": "command", "command": "echo 'mine'" }] // keep
      }
    ],
    "Stop": []
  },
  "permissions": { "allow": ["Bash(ls:*)"], }, /* the end */
}
`;
const codex = `# my settings
model = "gpt-5.6"
notify = ["say", "done"]

[features]
hooks = true

[[hooks.PreToolUse]]
matcher = "Bash" # mine
[[hooks.PreToolUse.hooks]]
type = "command"
command = '''echo "[x"'''
`;

describe('existing content', () => {
  test.each([
    ['claude-code', '.claude/settings.json', claude],
    ['claude-code', '.claude/settings.json', '{"model":"opus","hooks":{}}'],
    ['claude-code', '.claude/settings.json', '{}'],
    ['claude-code', '.claude/settings.json', claude.replaceAll('\n', '\r\n')],
    ['gemini-cli', '.gemini/settings.json', '{\n\t"tools": {\n\t\t"sandbox": true\n\t}\n}\n'],
    ['cursor', '.cursor/hooks.json', '{"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}]}}\n'],
    ['codex', '.codex/config.toml', codex],
    ['codex', '.codex/config.toml', ''],
  ] as const)('stays in the settings of %s, and is the same after uninstall', async (host, path, text) => {
    const { hooks, write, read, home } = machine();
    chmodSync(write(path, text), 0o640);
    expect(await hooks('install', host)).toMatchObject({ code: 0 });
    for (const line of text.split('\n').filter((one) => one.includes('mine') || one.includes('model')))
      expect(read(path)).toContain(line.trim().replace(/,$/, '').slice(0, 20));
    expect(statSync(join(home, path)).mode & 0o777).toBe(0o640);
    expect(await hooks('uninstall', host)).toMatchObject({ code: 0 });
    expect(read(path)).toBe(text);
  });

  test('a link stays a link', async () => {
    const { home, hooks, write, read } = machine();
    write('dotfiles/claude.json', '{}');
    mkdirSync(join(home, '.claude'));
    symlinkSync(join(home, 'dotfiles/claude.json'), join(home, '.claude/settings.json'));
    await hooks('install', 'claude-code');
    expect(lstatSync(join(home, '.claude/settings.json')).isSymbolicLink()).toBe(true);
    expect(read('dotfiles/claude.json')).toContain('hook claude-code');
  });

  test('is not copied: a copy of an older version is removed by the next install, or with our hooks', async () => {
    const { home, hooks, write } = machine();
    const path = '.claude/settings.json';
    write(path, claude);
    for (const verb of ['install', 'uninstall']) {
      write(`${path}.before-tollgate`, '{}');
      expect((await hooks(verb, 'claude-code')).out).not.toContain('before-tollgate');
      expect(readdirSync(join(home, '.claude'))).toEqual(['settings.json']);
    }
  });

  test('keeps ours in their place where nothing changes, whatever follows them', async () => {
    const { hooks, write, read } = machine();
    await hooks('install', 'codex');
    const text = `${read('.codex/config.toml')}\n[mcp_servers.x]\ncommand = "y"\n`;
    write('.codex/config.toml', text);
    expect(jsonOf(await hooks('install', 'codex', '--json'))).toMatchObject({ changed: false });
    expect(read('.codex/config.toml')).toBe(text);
    await hooks('uninstall', 'codex');
    expect(read('.codex/config.toml')).toBe('[mcp_servers.x]\ncommand = "y"\n');
  });

  test('a link to a missing file stays a link, before and after', async () => {
    const { home, hooks, read } = machine();
    mkdirSync(join(home, '.gemini'));
    const link = join(home, '.gemini/settings.json');
    symlinkSync('../dotfiles/gemini.json', link);
    await hooks('install', 'gemini-cli');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(read('dotfiles/gemini.json')).toContain('hook gemini-cli');
    await hooks('uninstall', 'gemini-cli');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(existsSync(join(home, 'dotfiles/gemini.json'))).toBe(false);
  });

  test('a file that is not writable stays unchanged, and is reported', async () => {
    const { home, hooks, write, read } = machine();
    chmodSync(write('.claude/settings.json', claude), 0o444);
    const { code, err } = await hooks('install', 'claude-code');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('is read-only, and is not changed') });
    expect(read('.claude/settings.json')).toBe(claude);
    expect(statSync(join(home, '.claude/settings.json')).mode & 0o777).toBe(0o444);
    expect(readdirSync(join(home, '.claude'))).toEqual(['settings.json']);
  });

  test('only our hook is removed from a group into which a user put it with their own', async () => {
    const { hooks, write, read } = machine();
    await hooks('install', 'claude-code');
    const moved = read('.claude/settings.json').replace('"hooks": [', '"hooks": [{"type": "command", "command": "echo theirs"},');
    write('.claude/settings.json', moved);
    await hooks('uninstall', 'claude-code');
    expect(read('.claude/settings.json')).toContain('echo theirs');
    expect(read('.claude/settings.json')).not.toContain('hook claude-code');
  });
});

const ours = { type: 'command', command: 'tollgate hook codex', timeout: 10 } as const;
const tables = [
  ['PreToolUse', ours],
  ['PostToolUse', ours],
] as const;
const isOurs = (handler: unknown): boolean => JSON.stringify(handler) === JSON.stringify(ours);

test.each([
  ['hooks = { PreToolUse = [] }\n', 'line 1, column 1: tables cannot be added'],
  ['a = 1\n[hooks]\nPreToolUse = []\n', 'line 3, column 1: tables cannot be added'],
  ['a = 1\nhooks.PostToolUse = [\n]\n', 'line 2, column 1: tables cannot be added'],
  ['[hooks.PreToolUse]\n', 'line 1, column 1: tables cannot be added'],
  ['a = [1,\n', 'line 2, column 1'],
  ['a = """\n', 'line 1, column 5'],
  ['nonsense\n', 'line 1, column 9'],
])('Codex settings that tables cannot be added to are refused: %j', (text, place) => {
  expect(() => putTables(text, tables, isOurs)).toThrow(place);
});

test('a number, date, inline table, dotted key and literal text are accepted', () => {
  const text =
    'a.b = 1\nbig = 9007199254740993\nat = 1979-05-27T07:32:00Z\npoint = { x = 1, "y z" = [2, 3] }\nre = \'<\\i\\c*\\s*>\'\n[mcp_servers."a.b"]\nargs = [\n  "x", # why\n]\n[hooks.state]\n';
  const edited = putTables(text, tables, isOurs);
  expect(placesIn(parseToml(edited)).map(({ event, handler }) => [event, handler])).toEqual(tables);
  expect(removeTables(edited, { leaves: ({ handler }) => isOurs(handler), isOurs })).toBe(text);
});

test('the state that Codex stores in the settings of the user for a hook in a folder is removed with that hook', async () => {
  const { cwd, hooks, write, read } = machine();
  const others = `model = "a"\n\n[hooks.state."/elsewhere/config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:00"\n`;
  await hooks('install', 'codex', '--project');
  const path = join(cwd, '.codex/config.toml');
  const states = placesIn(parseToml(readFileSync(path, 'utf8'))).map(
    (place) => `\n[hooks.state."${stateKey(path, place)}"]\ntrusted_hash = "${hookHash(place)}"\n`,
  );
  write('.codex/config.toml', others + states.join(''));
  await hooks('uninstall', 'codex', '--project');
  expect(read('.codex/config.toml')).toBe(others);
});

test('the key and the record of the hooks are removed with the last hook, and not before', async () => {
  const { home, hooks, write } = machine();
  const kept = join(home, '.config/tollgate/sidecar.json');
  await hooks('install', 'claude-code');
  await hooks('install', 'codex');
  await hooks('install', 'gemini-cli', '--project');
  await hooks('uninstall', 'claude-code');
  await hooks('uninstall', 'codex');
  expect(existsSync(kept)).toBe(true);
  write('.config/tollgate/profiles.json', '{}');
  await hooks('uninstall', 'gemini-cli', '--project');
  expect(readdirSync(join(home, '.config/tollgate'))).toEqual(['profiles.json']);
});

test.each([
  ['claude-code', '"/old/node" "/old/bin.js" hook claude-code'],
  ['claude-code', 'tollgate hook claude-code'],
  ['codex', '"/old/node" "/old/bin.js" hook codex --host-version 0.168.0 --agent "a b" || exit 2'],
  ['gemini-cli', '& "C:\\node.exe" "C:\\bin.js" hook gemini-cli --agent gemini-cli; if ($LASTEXITCODE -ne 0) { exit 2 }'],
  ['copilot-cli', `tollgate hook copilot-cli || echo '{"permissionDecision":"deny"}'`],
] as const)('a line of %s is recognised by what it starts: %s', (host, line) => {
  expect(isOurLine(host, line)).toBe(true);
  expect(isOurLine('cursor', line)).toBe(false);
  for (const other of [`${line} && mine`, `echo "${line}"`].filter((one) => !one.includes('||') && !one.includes(';')))
    expect(isOurLine(host, other)).toBe(false);
});

test.each([
  ['codex', '|| exit 2', '; true'],
  ['codex', '|| exit 2', '| tee x'],
  ['claude-code', '|| exit 2', '--more || exit 2 # note'],
  ['gemini-cli', '|| exit 2', '|| true'],
  ['cursor', '/usr/bin/node', '/usr/bin/node.exe'],
] as const)('a line of %s that its user changed is removed by uninstall: %s to %s', async (host, from, to) => {
  const { home, hooks, write, read } = machine();
  await hooks('install', host);
  const [path] = places[host];
  expect(read(path)).toContain(from);
  write(path, read(path).replaceAll(from, to));
  expect(await hooks('uninstall', host)).toMatchObject({ code: 0, err: '' });
  expect(readdirSync(home)).toEqual([]);
});

test('a line that also starts a program of the user stays, with a message, and so does the key that it uses', async () => {
  const { home, hooks, write, read } = machine();
  await hooks('install', 'cursor');
  const path = places.cursor[0];
  write(path, read(path).replaceAll('|| exit 2', '&& ./mine.sh'));
  const text = read(path);
  const { code, err } = await hooks('uninstall', 'cursor');
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringMatching(/so it is not removed: ".* && \.\/mine\.sh"; remove tollgate from it by hand/),
  });
  expect(read(path)).toBe(text);
  expect(existsSync(join(home, '.config/tollgate/sidecar.json'))).toBe(true);
});

describe('the name of the agent', () => {
  const command = (text: string): string => /hook codex[^']*/.exec(text)?.[0] ?? '';
  test('is that of the host by default, and stays unchanged', async () => {
    const { hooks, read, write } = machine();
    const path = '.codex/config.toml';
    await hooks('install', 'codex');
    expect(command(read(path))).toBe('hook codex --agent codex --wait-ms 50000 || exit 2');
    await hooks('install', 'codex', '--agent', 'ann laptop');
    await hooks('install', 'codex');
    expect(command(read(path))).toBe('hook codex --agent "ann laptop" --wait-ms 50000 || exit 2');
    await hooks('uninstall', 'codex');
    write(path, "[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ncommand = 'tollgate hook codex'\n");
    await hooks('install', 'codex');
    expect(command(read(path))).toBe('hook codex --wait-ms 50000 || exit 2');
  });

  test.each(['', ' a', 'a"b', '$HOME', '`id`', 'ä', 'a\nb', 'x'.repeat(201)])('%j is not a valid name', async (name) => {
    expect(await machine().hooks('install', 'codex', '--agent', name)).toMatchObject({
      code: 1,
      err: expect.stringContaining("the agent's name"),
    });
  });
});

describe('the wait for a person', () => {
  const written: Readonly<Record<string, readonly [path: string, limit: string]>> = {
    'claude-code': ['.claude/settings.json', '"timeout": 130'],
    codex: ['.codex/config.toml', 'timeout = 130'],
    cursor: ['.cursor/hooks.json', '"timeout": 130'],
    'gemini-cli': ['.gemini/settings.json', '"timeout": 130000'],
    'copilot-cli': ['.copilot/hooks/tollgate.json', '"timeoutSec": 130'],
    opencode: ['.config/opencode/plugins/tollgate.js', 'const waitMs = 130000;'],
  };
  test.each(Object.entries(written))('is in the line of %s, and the host waits 10 s longer', async (host, [path, limit]) => {
    const { hooks, read } = machine();
    await hooks('install', host, '--wait', '120');
    expect(read(path)).toContain(' --wait-ms 120000');
    expect(read(path)).toContain(limit);
    const standard = machine();
    await standard.hooks('install', host);
    expect(standard.read(path)).toContain(' --wait-ms 50000');
    expect(standard.read(path)).toContain(limit.replace('130', '60'));
  });

  test('is a header over HTTP', async () => {
    const { hooks, read } = machine();
    await hooks('install', 'claude-code', '--http', '--wait', '0');
    expect(read('.claude/settings.json')).toContain('"X-Tollgate-Wait-Ms": "0"');
    expect(read('.claude/settings.json')).toContain('"timeout": 10');
  });

  test.each([
    ['codex', '3601', 'a whole number of seconds from 0 to 3600'],
    ['codex', '-1', 'a whole number of seconds from 0 to 3600'],
    ['codex', '1.5', 'a whole number of seconds from 0 to 3600'],
    ['codex', '', 'a whole number of seconds from 0 to 3600'],
    ['cline', '1', 'Cline ends a run if a hook takes 3 s'],
  ])('%s --wait %s is refused', async (host, wait, words) => {
    expect(await machine().hooks('install', host, '--wait', wait)).toMatchObject({ code: 1, err: expect.stringContaining(words) });
  });

  test('Cline does not wait', async () => {
    const { hooks, read } = machine();
    await hooks('install', 'cline');
    expect(read('.cline/plugins/tollgate.js')).toContain(' --wait-ms 0');
  });
});

test("the version of the host is read where its program is on PATH, and only for the user's own hooks", async () => {
  const { home, cwd, read } = machine();
  const bin = folder();
  writeFileSync(join(bin, 'codex'), '#!/bin/sh\necho "codex-cli 0.169.0"\n', { mode: 0o755 });
  const install = (...more: readonly string[]) =>
    run(['hooks', 'install', 'codex', ...more], { env: { ...env, PATH: `${bin}:/usr/bin:/bin` }, home, cwd, self });
  await install();
  expect(read('.codex/config.toml')).toContain('hook codex --host-version 0.169.0 --agent codex --wait-ms 50000 || exit 2');
  await install('--project');
  expect(readFileSync(join(cwd, '.codex/config.toml'), 'utf8')).not.toContain('0.169.0');
});

test('--http makes Claude Code send the request itself, with the key of its environment, and no other host supports it', async () => {
  const { hooks, read } = machine();
  expect(await hooks('install', 'claude-code', '--http', '--sidecar', 'http://127.0.0.1:9191')).toMatchObject({
    code: 0,
    err: expect.stringContaining('while the sidecar is unreachable'),
  });
  expect(valueOf(parseJsonc(read('.claude/settings.json')))).toMatchObject({
    hooks: {
      PreToolUse: [
        {
          hooks: [
            {
              type: 'http',
              url: 'http://127.0.0.1:9191/hooks/claude-code',
              headers: { Authorization: 'Bearer $TOLLGATE_KEY', 'X-Tollgate-Agent': 'claude-code' },
              allowedEnvVars: ['TOLLGATE_KEY'],
            },
          ],
        },
      ],
    },
  });
  expect(await hooks('install', 'claude-code', '--http', '--sidecar', 'unix:/run/it')).toMatchObject({
    code: 1,
    err: expect.stringContaining('remove --http'),
  });
  expect(await hooks('install', 'codex', '--http')).toMatchObject({ code: 1, err: expect.stringContaining('remove --http') });
});

test('hooks that the settings disable are installed with a message about it', async () => {
  const { hooks, write } = machine();
  write('.claude/settings.json', '{"disableAllHooks": true}');
  expect(await hooks('install', 'claude-code')).toMatchObject({
    code: 0,
    err: expect.stringMatching(/without a decision: "disableAllHooks": true in \S+settings/),
  });
  expect((await hooks('install', 'gemini-cli')).err).not.toContain('without a decision');
});

test.each([
  ['cursor', 'MCP:<tool>'],
  ['gemini-cli', 'mcp_<server>_<tool>'],
  ['copilot-cli', '<server>-<tool>'],
  ['opencode', '<server>_<tool>'],
  ['cline', '<server>__<tool>'],
] as const)('install for %s reports which names do not say whose tool it is: %s', async (host, name) => {
  const { err } = await machine().hooks('install', host);
  expect(err).toContain(name);
  expect(err).toContain('toolNames');
});

test('without a key nothing is installed', async () => {
  const { home } = machine();
  expect(await run(['hooks', 'install', 'codex'], { home, cwd: home })).toMatchObject({
    code: 1,
    err: expect.stringContaining('--scope govern'),
  });
  expect(existsSync(join(home, '.codex'))).toBe(false);
});

test('an install that fails keeps no key', async () => {
  const { home, hooks, write } = machine();
  write('.codex/config.toml', 'model = "gpt\n');
  expect(await hooks('install', 'codex')).toMatchObject({ code: 1 });
  expect(readdirSync(home)).toEqual(['.codex']);
  await hooks('install', 'claude-code');
  expect(await hooks('install', 'codex')).toMatchObject({ code: 1 });
  expect(existsSync(join(home, '.config/tollgate/sidecar.json'))).toBe(true);
});

test.each(['{"made":', '[]'])(
  'where the record of the hooks cannot be read, nothing is changed, and the file is named: %s',
  async (text) => {
    const { home, hooks, write, read } = machine();
    write('.claude/settings.json', '{}\n');
    await hooks('install', 'claude-code');
    const [settings, key] = [read('.claude/settings.json'), read('.config/tollgate/sidecar.json')];
    const record = write('.config/tollgate/hooks.json', text);
    for (const verb of ['uninstall', 'install']) {
      const more = verb === 'install' ? ['--agent', 'other'] : [];
      expect(await hooks(verb, 'claude-code', ...more)).toMatchObject({
        code: 1,
        err: expect.stringContaining(`${record} must contain one JSON object`),
      });
      expect([read('.claude/settings.json'), read('.config/tollgate/sidecar.json')]).toEqual([settings, key]);
    }
    rmSync(record);
    expect(await hooks('uninstall', 'claude-code')).toMatchObject({ code: 0 });
    expect(read('.claude/settings.json')).not.toContain('tollgate');
    expect(existsSync(join(home, '.config/tollgate/sidecar.json'))).toBe(true);
  },
);

test('hooks of a project that was deleted keep no key', async () => {
  const { home, cwd, hooks } = machine();
  await hooks('install', 'claude-code', '--project');
  await hooks('install', 'codex');
  rmSync(join(cwd, '.claude'), { recursive: true });
  expect(await hooks('uninstall', 'codex')).toMatchObject({ code: 0 });
  expect(readdirSync(home)).toEqual([]);
});

test.each(['{"b":-0}', '{"a":1e400,"b":-0}'])('numbers that JSON.stringify writes differently stay unchanged: %s', async (text) => {
  const { hooks, write, read } = machine();
  write('.claude/settings.json', text);
  expect(await hooks('install', 'claude-code')).toMatchObject({ code: 0 });
  expect(await hooks('uninstall', 'claude-code')).toMatchObject({ code: 0 });
  expect(read('.claude/settings.json')).toBe(text);
});

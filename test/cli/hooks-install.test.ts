// Hooks in the settings of hosts: what is there stays as it is, install is done once, and uninstall leaves what was before.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hosts, type HostName } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addHooks, removeHooks } from '../../control-plane/cli/hooks/settings-json.ts';
import { addBlock, removeBlock } from '../../control-plane/cli/hooks/settings-toml.ts';
import { parseJsonc, valueOf } from '../../control-plane/cli/hooks/jsonc.ts';
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

  test('install writes the hooks and the key, is done once, and uninstall leaves nothing', async () => {
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
    expect(existsSync(join(home, user))).toBe(false);
    expect(jsonOf(await hooks('uninstall', host, '--json'))).toMatchObject({ changed: false });
  });

  test('those of a project hold no path and no key of this machine', async () => {
    const { home, cwd, hooks } = machine();
    expect(await hooks('install', host, '--project')).toMatchObject({ code: 0 });
    const text = readFileSync(join(cwd, project), 'utf8');
    expect(text).toContain(`tollgate hook ${host}`);
    expect(text).not.toMatch(/\/usr\/bin|\/opt|gsk_/);
    expect(existsSync(join(home, '.config/tollgate/sidecar.json'))).toBe(false);
    expect(await hooks('uninstall', host, '--project')).toMatchObject({ code: 0 });
    expect(existsSync(join(cwd, project))).toBe(false);
  });

  test('a file that cannot be read as what it is is refused with its place, and left', async () => {
    const { home, hooks, write, read } = machine();
    const broken = host === 'codex' ? 'model = "gpt\n' : '{\n  "hooks": {"a" 1}\n}\n';
    write(user, broken);
    const isWhole = host === 'opencode' || host === 'cline';
    const place = host === 'codex' ? 'line 1, column 9' : isWhole ? 'it is not a file of ours' : 'line 2, column 17';
    expect(await hooks('install', host)).toMatchObject({ code: 1, err: expect.stringContaining(place) });
    expect(await hooks('install', host)).toMatchObject({ err: expect.stringContaining(user) });
    expect(read(user)).toBe(broken);
    expect(readdirSync(dirname(join(home, user)))).toEqual([user.split('/').at(-1)]);
  });

  test('another command is taken for the one before it', async () => {
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

describe('what is there', () => {
  test.each([
    ['claude-code', '.claude/settings.json', claude],
    ['claude-code', '.claude/settings.json', '{"model":"opus","hooks":{}}'],
    ['claude-code', '.claude/settings.json', '{}'],
    ['claude-code', '.claude/settings.json', claude.replaceAll('\n', '\r\n')],
    ['gemini-cli', '.gemini/settings.json', '{\n\t"tools": {\n\t\t"sandbox": true\n\t}\n}\n'],
    ['cursor', '.cursor/hooks.json', '{"version": 1, "hooks": {"preToolUse": [{"command": "./mine.sh"}]}}\n'],
    ['codex', '.codex/config.toml', codex],
    ['codex', '.codex/config.toml', ''],
  ] as const)('stays in the settings of %s, and comes out as it went in', async (host, path, text) => {
    const { hooks, write, read, home } = machine();
    chmodSync(write(path, text), 0o640);
    expect(await hooks('install', host)).toMatchObject({ code: 0 });
    for (const line of text.split('\n').filter((one) => one.includes('mine') || one.includes('model')))
      expect(read(path)).toContain(line.trim().replace(/,$/, '').slice(0, 20));
    expect(readFileSync(join(home, `${path}.before-tollgate`), 'utf8')).toBe(text);
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

  test('is in its copy whatever install and uninstall did since, and the next install copies what is there then', async () => {
    const { hooks, write, read } = machine();
    const path = '.claude/settings.json';
    write(path, claude);
    await hooks('install', 'claude-code');
    await hooks('install', 'claude-code', '--http');
    expect(read(`${path}.before-tollgate`)).toBe(claude);
    await hooks('uninstall', 'claude-code');
    expect(read(`${path}.before-tollgate`)).toBe(claude);
    write(path, '{"model": "sonnet"}');
    await hooks('install', 'claude-code');
    expect(read(`${path}.before-tollgate`)).toBe('{"model": "sonnet"}');
  });

  test('is no copy of what install itself wrote', async () => {
    const { home, hooks } = machine();
    await hooks('install', 'claude-code');
    expect(jsonOf(await hooks('install', 'claude-code', '--http', '--json'))).toMatchObject({ changed: true, backup: null });
    expect(readdirSync(join(home, '.claude'))).toEqual(['settings.json']);
  });

  test('a link to what is not there yet stays a link, before and after', async () => {
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

  test('a file that nobody may write is left, and said to be so', async () => {
    const { home, hooks, write, read } = machine();
    chmodSync(write('.claude/settings.json', claude), 0o444);
    const { code, err } = await hooks('install', 'claude-code');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('is read-only, and is left as it is') });
    expect(read('.claude/settings.json')).toBe(claude);
    expect(statSync(join(home, '.claude/settings.json')).mode & 0o777).toBe(0o444);
    expect(readdirSync(join(home, '.claude'))).toEqual(['settings.json']);
  });

  test('a group into which somebody put ours beside their own loses ours only', async () => {
    const { hooks, write, read } = machine();
    await hooks('install', 'claude-code');
    const moved = read('.claude/settings.json').replace('"hooks": [', '"hooks": [{"type": "command", "command": "echo theirs"},');
    write('.claude/settings.json', moved);
    await hooks('uninstall', 'claude-code');
    expect(read('.claude/settings.json')).toContain('echo theirs');
    expect(read('.claude/settings.json')).not.toContain('hook claude-code');
  });
});

test.each([
  ['hooks = { PreToolUse = [] }\n', 'line 1, column 1'],
  ['a = 1\n[hooks]\nPreToolUse = []\n', 'line 3, column 1'],
  ['a = 1\nhooks.PostToolUse = [\n]\n', 'line 2, column 1'],
  ['[hooks.PreToolUse]\n', 'line 1, column 1'],
  ['a = [1,\n', 'line 1, column 1'],
  ['a = """\n', 'line 1, column 5'],
  ['nonsense\n', 'line 1, column 1'],
])('Codex settings that tables cannot be added to are refused: %j', (text, place) => {
  expect(() => addBlock(text, ['x = 1'])).toThrow(place);
});

test('a number, date, inline table, dotted key and literal text are no obstacle', () => {
  const text =
    'a.b = 1\nat = 1979-05-27T07:32:00Z\npoint = { x = 1, "y z" = [2, 3] }\nre = \'<\\i\\c*\\s*>\'\n[mcp_servers."a.b"]\nargs = [\n  "x", # why\n]\n[hooks.state]\n';
  expect(removeBlock(addBlock(text, ['x = 1']))).toBe(text);
});

test('--http makes Claude Code ask by itself, with the key of its environment, and is for no other', async () => {
  const { hooks, read } = machine();
  expect(await hooks('install', 'claude-code', '--http', '--sidecar', 'http://127.0.0.1:9191')).toMatchObject({
    code: 0,
    err: expect.stringContaining('while the sidecar is away'),
  });
  expect(valueOf(parseJsonc(read('.claude/settings.json')))).toMatchObject({
    hooks: {
      PreToolUse: [
        {
          hooks: [
            {
              type: 'http',
              url: 'http://127.0.0.1:9191/hooks/claude-code',
              headers: { Authorization: 'Bearer $TOLLGATE_KEY' },
              allowedEnvVars: ['TOLLGATE_KEY'],
            },
          ],
        },
      ],
    },
  });
  expect(await hooks('install', 'codex', '--http')).toMatchObject({ code: 1, err: expect.stringContaining('leave out --http') });
});

test('hooks that the settings switch off are installed with a word about it', async () => {
  const { hooks, write } = machine();
  write('.claude/settings.json', '{"disableAllHooks": true}');
  expect(await hooks('install', 'claude-code')).toMatchObject({
    code: 0,
    err: expect.stringMatching(/unasked: "disableAllHooks": true in \S+settings/),
  });
  expect((await hooks('install', 'gemini-cli')).err).not.toContain('unasked');
});

test.each([
  ['cursor', 'MCP:<tool>'],
  ['gemini-cli', 'mcp_<server>_<tool>'],
  ['copilot-cli', '<server>-<tool>'],
  ['opencode', '<server>_<tool>'],
  ['cline', '<server>__<tool>'],
] as const)('install for %s says which names do not say whose tool it is: %s', async (host, name) => {
  const { err } = await machine().hooks('install', host);
  expect(err).toContain(name);
  expect(err).toContain('toolNames');
});

test('without a key there is nothing to install', async () => {
  const { home } = machine();
  expect(await run(['hooks', 'install', 'codex'], { home, cwd: home })).toMatchObject({
    code: 1,
    err: expect.stringContaining('--scope govern'),
  });
  expect(existsSync(join(home, '.codex'))).toBe(false);
});

/** JSON as people write it: any spacing, comments, trailing commas. */
const blank = fc.constantFrom('', ' ', '\n', '\n  ', ' // note\n', '/* c */');
const written: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('1', 'true', 'null', '"a"', '"//"', '"[{,"'),
    fc
      .tuple(
        fc.array(
          fc.tuple(blank, tie('value'), blank).map((parts) => parts.join('')),
          { maxLength: 3 },
        ),
        fc.boolean(),
      )
      .map(([items, comma]) => `[${items.join(',')}${comma && items.length > 0 ? ',' : ''}]`),
  ),
})).value;
const settings = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom('a', 'b', 'model', 'permissions'), { maxLength: 3 }),
    fc.array(written, { minLength: 3, maxLength: 3 }),
    fc.array(blank, { minLength: 4, maxLength: 4 }),
    fc.boolean(),
  )
  .map(([names, values, blanks, comma]) => {
    const members = names.map((name, at) => `${blanks[at] ?? ''}"${name}": ${values[at] ?? '1'}${blanks[at + 1] ?? ''}`);
    return `{${members.join(',')}${comma && members.length > 0 ? ',' : ''}${names.length === 0 ? '' : (blanks[3] ?? '')}}`;
  });

test('whatever the settings look like, everything in them is there with the hooks, and after them as before', () => {
  fc.assert(
    fc.property(settings, (text) => {
      const ours = { command: 'ours' };
      const { text: edited, made } = addHooks(
        text,
        [
          ['PreToolUse', ours],
          ['PostToolUse', ours],
        ],
        {},
      );
      expect(valueOf(parseJsonc(edited))).toEqual({
        ...Object(valueOf(parseJsonc(text))),
        hooks: { PreToolUse: [ours], PostToolUse: [ours] },
      });
      const back = removeHooks(edited, (handler) => JSON.stringify(handler) === JSON.stringify(ours), made);
      expect(valueOf(parseJsonc(back))).toEqual(valueOf(parseJsonc(text)));
      const comments = (of: string): readonly string[] => of.match(/\/\/ note|\/\* c \*\//g) ?? [];
      expect(comments(back)).toEqual(comments(text));
      expect(back.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
      expect(comments(edited)).toEqual(comments(text));
    }),
    { numRuns: 500 },
  );
});

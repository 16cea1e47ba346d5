// The folders where each host reads its settings, and where we keep ours, on other machines than the one that runs
// these tests.
import type { HostName } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { connectionPath } from '../../cli/hooks/connection.ts';
import { hostSettings } from '../../cli/hooks/host-settings.ts';
import { filesOf } from '../../cli/hooks/off-switches.ts';
import { programPaths } from '../../cli/hooks/paths.ts';

const machines = {
  linux: { platform: 'linux', home: '/home/ann', cwd: '/home/ann/shop' },
  darwin: { platform: 'darwin', home: '/Users/ann', cwd: '/Users/ann/shop' },
  win32: { platform: 'win32', home: 'C:\\Users\\ann', cwd: 'C:\\Users\\ann\\shop' },
} as const;

test.each([
  [
    'claude-code',
    'linux',
    '/home/ann/.claude/settings.json',
    '/home/ann/shop/.claude/settings.json',
    ['/etc/claude-code/managed-settings.json'],
  ],
  [
    'claude-code',
    'darwin',
    '/Users/ann/.claude/settings.json',
    '/Users/ann/shop/.claude/settings.json',
    ['/Library/Application Support/ClaudeCode/managed-settings.json'],
  ],
  [
    'claude-code',
    'win32',
    'C:\\Users\\ann\\.claude\\settings.json',
    'C:\\Users\\ann\\shop\\.claude\\settings.json',
    ['C:\\Program Files\\ClaudeCode\\managed-settings.json'],
  ],
  [
    'codex',
    'linux',
    '/home/ann/.codex/config.toml',
    '/home/ann/shop/.codex/config.toml',
    ['/etc/codex/config.toml', '/etc/codex/requirements.toml', '/etc/codex/managed_config.toml'],
  ],
  [
    'codex',
    'darwin',
    '/Users/ann/.codex/config.toml',
    '/Users/ann/shop/.codex/config.toml',
    ['/etc/codex/config.toml', '/etc/codex/requirements.toml', '/etc/codex/managed_config.toml'],
  ],
  [
    'codex',
    'win32',
    'C:\\Users\\ann\\.codex\\config.toml',
    'C:\\Users\\ann\\shop\\.codex\\config.toml',
    [
      'C:\\ProgramData\\OpenAI\\Codex\\config.toml',
      'C:\\ProgramData\\OpenAI\\Codex\\requirements.toml',
      'C:\\ProgramData\\OpenAI\\Codex\\managed_config.toml',
    ],
  ],
  ['cursor', 'linux', '/home/ann/.cursor/hooks.json', '/home/ann/shop/.cursor/hooks.json', []],
  ['cursor', 'darwin', '/Users/ann/.cursor/hooks.json', '/Users/ann/shop/.cursor/hooks.json', []],
  ['cursor', 'win32', 'C:\\Users\\ann\\.cursor\\hooks.json', 'C:\\Users\\ann\\shop\\.cursor\\hooks.json', []],
  [
    'gemini-cli',
    'linux',
    '/home/ann/.gemini/settings.json',
    '/home/ann/shop/.gemini/settings.json',
    ['/etc/gemini-cli/system-defaults.json', '/etc/gemini-cli/settings.json'],
  ],
  [
    'gemini-cli',
    'darwin',
    '/Users/ann/.gemini/settings.json',
    '/Users/ann/shop/.gemini/settings.json',
    ['/Library/Application Support/GeminiCli/system-defaults.json', '/Library/Application Support/GeminiCli/settings.json'],
  ],
  [
    'gemini-cli',
    'win32',
    'C:\\Users\\ann\\.gemini\\settings.json',
    'C:\\Users\\ann\\shop\\.gemini\\settings.json',
    ['C:\\ProgramData\\gemini-cli\\system-defaults.json', 'C:\\ProgramData\\gemini-cli\\settings.json'],
  ],
  ['copilot-cli', 'linux', '/home/ann/.copilot/hooks/tollgate.json', '/home/ann/shop/.github/hooks/tollgate.json', []],
  ['copilot-cli', 'darwin', '/Users/ann/.copilot/hooks/tollgate.json', '/Users/ann/shop/.github/hooks/tollgate.json', []],
  ['copilot-cli', 'win32', 'C:\\Users\\ann\\.copilot\\hooks\\tollgate.json', 'C:\\Users\\ann\\shop\\.github\\hooks\\tollgate.json', []],
  ['opencode', 'linux', '/home/ann/.config/opencode/plugins/tollgate.js', '/home/ann/shop/.opencode/plugins/tollgate.js', []],
  ['opencode', 'darwin', '/Users/ann/.config/opencode/plugins/tollgate.js', '/Users/ann/shop/.opencode/plugins/tollgate.js', []],
  [
    'opencode',
    'win32',
    'C:\\Users\\ann\\.config\\opencode\\plugins\\tollgate.js',
    'C:\\Users\\ann\\shop\\.opencode\\plugins\\tollgate.js',
    [],
  ],
  ['cline', 'linux', '/home/ann/.cline/plugins/tollgate.js', '/home/ann/shop/.cline/plugins/tollgate.js', []],
  ['cline', 'darwin', '/Users/ann/.cline/plugins/tollgate.js', '/Users/ann/shop/.cline/plugins/tollgate.js', []],
  ['cline', 'win32', 'C:\\Users\\ann\\.cline\\plugins\\tollgate.js', 'C:\\Users\\ann\\shop\\.cline\\plugins\\tollgate.js', []],
] as const satisfies readonly (readonly [HostName, keyof typeof machines, string, string, readonly string[]])[])(
  '%s on %s: %s',
  (host, name, user, project, machine) => {
    const here = { ...machines[name], env: {} };
    expect(hostSettings[host].file('user', here, here.cwd)).toBe(user);
    expect(hostSettings[host].file('project', here, here.cwd)).toBe(project);
    expect(filesOf(here, host).machine).toEqual(machine);
    expect(filesOf(here, host).own.slice(0, 2)).toEqual([user, project]);
  },
);

test.each([
  ['claude-code', 'CLAUDE_CONFIG_DIR', 'D:\\agents', 'D:\\agents\\settings.json'],
  ['codex', 'CODEX_HOME', 'D:\\agents', 'D:\\agents\\config.toml'],
  ['copilot-cli', 'COPILOT_HOME', 'D:\\agents', 'D:\\agents\\hooks\\tollgate.json'],
] as const)('%s uses another folder by %s', (host, variable, folder, file) => {
  expect(hostSettings[host].file('user', { ...machines.win32, env: { [variable]: folder } }, '')).toBe(file);
});

// As in the programs themselves, OpenCode 1.18.33 and Cline 3.0.65. OPENCODE_CONFIG_DIR adds one folder, and does not
// replace the other.
test.each([
  ['opencode', 'linux', { XDG_CONFIG_HOME: '/var/ann' }, '/var/ann/opencode/plugins/tollgate.js'],
  ['opencode', 'darwin', { XDG_CONFIG_HOME: '/var/ann' }, '/var/ann/opencode/plugins/tollgate.js'],
  ['opencode', 'win32', { XDG_CONFIG_HOME: 'D:\\ann' }, 'D:\\ann\\opencode\\plugins\\tollgate.js'],
  ['opencode', 'linux', { XDG_CONFIG_HOME: '' }, '/home/ann/.config/opencode/plugins/tollgate.js'],
  ['opencode', 'win32', { APPDATA: 'C:\\Users\\ann\\AppData\\Roaming' }, 'C:\\Users\\ann\\.config\\opencode\\plugins\\tollgate.js'],
  ['opencode', 'linux', { OPENCODE_CONFIG_DIR: '/var/ann' }, '/home/ann/.config/opencode/plugins/tollgate.js'],
  ['cline', 'linux', { CLINE_DIR: '/var/ann' }, '/var/ann/plugins/tollgate.js'],
  ['cline', 'win32', { CLINE_DIR: ' D:\\ann ' }, 'D:\\ann\\plugins\\tollgate.js'],
  ['cline', 'darwin', { CLINE_DIR: ' ' }, '/Users/ann/.cline/plugins/tollgate.js'],
  ['cline', 'linux', { CLINE_DATA_DIR: '/var/ann', XDG_CONFIG_HOME: '/var/bob' }, '/home/ann/.cline/plugins/tollgate.js'],
  ['cline', 'win32', { HOME: 'D:\\ann' }, 'D:\\ann\\.cline\\plugins\\tollgate.js'],
  ['cline', 'win32', { HOME: '~' }, 'C:\\Users\\ann\\.cline\\plugins\\tollgate.js'],
] as const)('%s on %s with %j has its plugins in %s', (host, name, env, path) => {
  const here = { ...machines[name], env };
  expect(hostSettings[host].file('user', here, here.cwd)).toBe(path);
  expect(hostSettings[host].folder(here)).toBe(path.slice(0, path.indexOf('plugins') - 1));
});

test.each([
  ['linux', {}, '/home/ann/.cline/data/settings/global-settings.json'],
  ['win32', {}, 'C:\\Users\\ann\\.cline\\data\\settings\\global-settings.json'],
  ['linux', { CLINE_DIR: '/var/ann' }, '/var/ann/data/settings/global-settings.json'],
  ['linux', { CLINE_DIR: '/var/ann', CLINE_DATA_DIR: ' /var/bob' }, '/var/bob/settings/global-settings.json'],
  ['linux', { CLINE_GLOBAL_SETTINGS_PATH: '/var/eve.json ' }, '/var/eve.json'],
] as const)('the setting that disables plugins of Cline on %s with %j is in %s', (name, env, path) => {
  expect(filesOf({ ...machines[name], env }, 'cline').own).toContain(path);
});

test.each([
  ['linux', {}, '/home/ann/.config/tollgate/sidecar.json'],
  ['darwin', {}, '/Users/ann/.config/tollgate/sidecar.json'],
  ['win32', {}, 'C:\\Users\\ann\\.config\\tollgate\\sidecar.json'],
  ['linux', { XDG_CONFIG_HOME: '/var/ann' }, '/var/ann/tollgate/sidecar.json'],
] as const)('the key on %s with %j is in %s', (name, env, path) => {
  expect(connectionPath({ ...machines[name], env })).toBe(path);
});

test('a program is searched as a shell of the machine does', () => {
  expect(programPaths(['codex'], { platform: 'linux', env: { PATH: '/bin::/usr/bin' } })).toEqual(['/bin/codex', '/usr/bin/codex']);
  expect(programPaths(['codex'], { platform: 'win32', env: { Path: 'C:\\a;D:\\b', PATHEXT: '.EXE;.CMD' } })).toEqual([
    'C:\\a\\codex.exe',
    'C:\\a\\codex.cmd',
    'D:\\b\\codex.exe',
    'D:\\b\\codex.cmd',
  ]);
});

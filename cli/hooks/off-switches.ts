// Finds the settings with which a user, a project or a machine switches off the hooks of a host, whatever hooks are
// installed. Every file that the host reads is searched. It does not matter which file has priority, because in another
// folder another file may have priority.
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import { whyClineLoadsNone } from './cline-loads.ts';
import { hostSettings } from './host-settings.ts';
import { BadSettings, readSettings } from './settings-file.ts';
import { parseJsonc, valueOf } from './edit-jsonc.ts';
import { pathsOf, platformOf } from './paths.ts';
import type { Here } from './records.ts';
import { parseToml } from './edit-toml.ts';

/** Returns the parts of a file's text that switch our hooks off, as they are written there. */
type Look = (text: string) => readonly string[];

interface Switches {
  /** Further settings files of the user and of the project, besides the file with our hooks. */
  readonly files: (here: Here) => readonly string[];
  readonly look: Look;
  /** The files of the machine, for all users. */
  readonly machine: (here: Here) => readonly string[];
  readonly lookAtMachine?: Look;
  /**
   * Returns what in the environment switches hooks off, in words. The host is assumed to have the environment of this
   * process.
   */
  readonly environment?: (here: Here) => readonly string[] | Promise<readonly string[]>;
}

/** Returns where hooks are switched off, with the file. Also returns files that could not be read. */
export async function offSwitches(here: Here, host: HostName): Promise<readonly string[]> {
  const { look, lookAtMachine = look, environment } = switchesOf[host];
  const { own, machine } = filesOf(here, host);
  const found = await Promise.all([...own.map((path) => lookInto(path, look)), ...machine.map((path) => lookInto(path, lookAtMachine))]);
  return [...((await environment?.(here)) ?? []), ...found.flat()];
}

/** Returns every file from which the host reads settings: of the user and the project, and of the machine. */
export function filesOf(here: Here, host: HostName): { readonly own: readonly string[]; readonly machine: readonly string[] } {
  const { files, machine } = switchesOf[host];
  const scopes = (['user', 'project'] as const).map((scope) => hostSettings[host].file(scope, here, here.cwd));
  return { own: [...new Set([...scopes, ...files(here)])], machine: machine(here) };
}

async function lookInto(path: string, look: Look): Promise<readonly string[]> {
  try {
    const text = await readSettings(path);
    return text === null || text.trim() === '' ? [] : look(text).map((words) => `${words} in ${path} switches hooks off`);
  } catch (error) {
    if (error instanceof BadSettings) return [`${path} cannot be read: ${error.message}`];
    if (error instanceof Failure) return [error.message];
    throw error;
  }
}

/** The path of a key, such as `hooks.enabled`, and the value that switches hooks off. */
type Off = readonly [path: string, value: boolean];

const inJson =
  (offs: readonly Off[], lists: readonly string[] = []): Look =>
  (text) => {
    const root = valueOf(parseJsonc(text));
    const at = (path: string): unknown => path.split('.').reduce<unknown>((value, key) => (isRow(value) ? value[key] : undefined), root);
    const isOurs = (name: unknown): boolean => typeof name === 'string' && /tollgate/.test(name);
    return [
      ...offs.filter(([path, value]) => at(path) === value).map(([path, value]) => `"${path}": ${value}`),
      ...lists.filter((path) => [at(path)].flat().some(isOurs)).map((path) => `"${path}"`),
    ];
  };

const inToml: Look = (text) => {
  const root = parseToml(text);
  const profiles = isRow(root['profiles']) ? Object.entries(root['profiles']) : [];
  return [
    ...featuresOff('', root),
    ...profiles.flatMap(([name, profile]) => featuresOff(`profiles.${name}.`, profile)),
    ...(root['allow_managed_hooks_only'] === true ? ['allow_managed_hooks_only = true'] : []),
  ];
};

function featuresOff(before: string, table: unknown): readonly string[] {
  const features = isRow(table) ? table['features'] : undefined;
  if (!isRow(features)) return [];
  return ['hooks', 'codex_hooks'].filter((name) => features[name] === false).map((name) => `${before}features.${name} = false`);
}

const onPlatform = (here: Here, linux: string, darwin: string, windows: string, names: readonly string[]): readonly string[] => {
  const platform = platformOf(here);
  const folder = platform === 'darwin' ? darwin : platform === 'win32' ? windows : linux;
  return names.map((name) => pathsOf(here).join(folder, name));
};

const clineData = (here: Here): string => here.env['CLINE_DATA_DIR']?.trim() || pathsOf(here).join(hostSettings.cline.folder(here), 'data');

const disableAll: Off = ['disableAllHooks', true];

const switchesOf: Readonly<Record<HostName, Switches>> = {
  'claude-code': {
    files: (here) => [pathsOf(here).join(here.cwd, '.claude', 'settings.local.json')],
    look: inJson([disableAll]),
    machine: (here) =>
      onPlatform(here, '/etc/claude-code', '/Library/Application Support/ClaudeCode', 'C:\\Program Files\\ClaudeCode', [
        'managed-settings.json',
      ]),
    lookAtMachine: inJson([disableAll, ['allowManagedHooksOnly', true]]),
  },
  codex: {
    files: () => [],
    look: inToml,
    machine: (here) =>
      onPlatform(here, '/etc/codex', '/etc/codex', 'C:\\ProgramData\\OpenAI\\Codex', [
        'config.toml',
        'requirements.toml',
        'managed_config.toml',
      ]),
  },
  // Cursor has no such setting in a file.
  cursor: { files: () => [], look: () => [], machine: () => [] },
  'gemini-cli': {
    files: () => [],
    look: inJson(
      [
        ['tools.enableHooks', false],
        ['hooksConfig.enabled', false],
        ['hooks.enabled', false],
      ],
      ['hooksConfig.disabled', 'hooks.disabled'],
    ),
    machine: (here) => {
      const named = here.env['GEMINI_CLI_SYSTEM_SETTINGS_PATH'];
      const files = onPlatform(here, '/etc/gemini-cli', '/Library/Application Support/GeminiCli', 'C:\\ProgramData\\gemini-cli', [
        'system-defaults.json',
        'settings.json',
      ]);
      return named === undefined || named === '' ? files : [...files.slice(0, 1), named];
    },
  },
  'copilot-cli': {
    files: (here) => [
      ...['settings.json', 'config.json'].map((name) => pathsOf(here).join(hostSettings['copilot-cli'].folder(here), name)),
      ...['settings.json', 'settings.local.json'].map((name) => pathsOf(here).join(here.cwd, '.github', 'copilot', name)),
    ],
    look: inJson([disableAll]),
    machine: () => [],
  },
  // OpenCode has a switch only in its environment and on its command line.
  opencode: {
    files: () => [],
    look: () => [],
    machine: () => [],
    environment: ({ env }) => (env['OPENCODE_PURE'] ? ['OPENCODE_PURE in the environment switches hooks off'] : []),
  },
  cline: {
    files: (here) => {
      const named = here.env['CLINE_GLOBAL_SETTINGS_PATH']?.trim();
      return [named || pathsOf(here).join(clineData(here), 'settings', 'global-settings.json')];
    },
    look: (text) => (text.startsWith('//') ? [] : inJson([], ['disabledPlugins'])(text)),
    machine: () => [],
    environment: (here) => whyClineLoadsNone(here, clineData(here)),
  },
};

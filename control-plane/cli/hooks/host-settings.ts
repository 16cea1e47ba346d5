// What each host reads its hooks from, and what stands there for us. The time limits are above what `tollgate hook` waits.
import { join } from 'node:path';
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../answer.ts';
import { addHooks, handlersIn, removeHooks, saysNothing, type Wanted } from './settings-json.ts';
import { addBlock, eventIn, quoteToml, removeBlock } from './settings-toml.ts';
import type { Surroundings } from './connection.ts';

export type Scope = 'user' | 'project';

/** How a host is to ask: by a program that it starts, or over HTTP by itself. */
export type Way = { readonly kind: 'command'; readonly command: string } | { readonly kind: 'http'; readonly url: string };

/** What of ours stands in settings. */
export interface Installed {
  readonly way: Way;
  /** Why the host does not wait for it before every call, in words. */
  readonly gaps: readonly string[];
}

interface Edit {
  readonly text: string;
  readonly made: readonly string[];
}

export interface HostSettings {
  readonly title: string;
  /** Of its program, on PATH. */
  readonly programs: readonly string[];
  /** Of the user's, which is there once it was used. */
  folder(surroundings: Surroundings): string;
  file(scope: Scope, surroundings: Surroundings, project: string): string;
  add(text: string, way: Way): Edit;
  remove(text: string, made: readonly string[]): string;
  /** Whether nothing is left in it. */
  isBare(text: string): boolean;
  /** What of ours stands there, for the event before a call. */
  installed(text: string): Installed | null;
  /** What else its user has to know. */
  readonly notes: readonly string[];
}

const seconds = 10;

interface InJson {
  readonly host: HostName;
  readonly title: string;
  readonly programs: readonly string[];
  /** Its variable for another folder, and the folder's name in the user's home. */
  readonly home: readonly [variable: string, name: string];
  readonly file: string;
  readonly projectFile: string;
  readonly head?: Readonly<Record<string, unknown>>;
  readonly before: string;
  readonly entries: (way: Way) => Wanted;
  readonly notes?: readonly string[];
}

function inJson({ host, home, file, projectFile, before, entries, head = {}, ...rest }: InJson): HostSettings {
  const folder = (surroundings: Surroundings): string => folderOf(surroundings, home);
  return {
    notes: [],
    ...rest,
    folder,
    file: (scope, surroundings, project) => (scope === 'user' ? join(folder(surroundings), file) : join(project, projectFile)),
    add: (text, way) => addHooks(text, entries(way), head),
    remove: (text, made) => removeHooks(text, (handler) => wayOf(host, handler) !== null, made),
    isBare: saysNothing,
    installed: (text) => {
      const ours = handlersIn(text).flatMap(([event, handler, group]) => {
        const way = event === before ? wayOf(host, handler) : null;
        return way === null ? [] : [{ way, gaps: [...new Set([group, handler].flatMap(gapsIn))] }];
      });
      return ours.find(({ gaps }) => gaps.length === 0) ?? ours[0] ?? null;
    },
  };
}

const everyTool: ReadonlySet<unknown> = new Set([undefined, null, '', '*', '.*']);

function gapsIn(said: unknown): readonly string[] {
  if (!isRow(said)) return [];
  const { matcher, if: condition, async: beside } = said;
  return [
    ...(everyTool.has(matcher) ? [] : [`the hook is only for tools that match ${JSON.stringify(matcher)}`]),
    ...(condition === undefined ? [] : [`the hook is only for calls that match ${JSON.stringify(condition)}`]),
    ...(beside === undefined || beside === false ? [] : ['the call does not wait for the hook, which is "async"']),
  ];
}

function folderOf({ env, home }: Surroundings, [variable, name]: readonly [string, string]): string {
  const named = env[variable];
  return named === undefined || named === '' ? join(home, name) : named;
}

/** The way that a handler asks us by; null: it is none of ours. */
function wayOf(host: HostName, handler: unknown): Way | null {
  if (!isRow(handler)) return null;
  const { url, command, bash } = handler;
  if (typeof url === 'string') return url.endsWith(`/hooks/${host}`) ? { kind: 'http', url } : null;
  const text = typeof command === 'string' ? command : typeof bash === 'string' ? bash : '';
  return isOurCommand(host, text) ? { kind: 'command', command: text } : null;
}

const isOurCommand = (host: HostName, text: string): boolean =>
  text.endsWith(` hook ${host}`) && /(?:tollgate|bin\.js)["']? hook \S+$/.test(text);

const commandOf = (way: Way): string => (way.kind === 'command' ? way.command : '');

const claudeHandler = (way: Way): object =>
  way.kind === 'command'
    ? { type: 'command', command: way.command, timeout: seconds }
    : {
        type: 'http',
        url: way.url,
        headers: { Authorization: 'Bearer $TOLLGATE_KEY' },
        allowedEnvVars: ['TOLLGATE_KEY'],
        timeout: seconds,
      };

/** How a name that does not say whose tool it is becomes ours. */
const whereKnown = (how: string): string =>
  `by toolNames of the workspace policy, or where one server that ${how} is registered or stands in its rules (two are denied)`;

const events = (names: readonly string[], entry: unknown): Wanted => names.map((name) => [name, entry]);

const claudeCode = inJson({
  host: 'claude-code',
  title: 'Claude Code',
  programs: ['claude'],
  home: ['CLAUDE_CONFIG_DIR', '.claude'],
  file: 'settings.json',
  projectFile: '.claude/settings.json',
  before: 'PreToolUse',
  entries: (way) => events(['PreToolUse', 'PostToolUse', 'PostToolUseFailure'], { matcher: '*', hooks: [claudeHandler(way)] }),
  notes: ['Claude Code shows its model the error of a call that failed, whatever a hook says'],
});

const cursor = inJson({
  host: 'cursor',
  title: 'Cursor',
  programs: ['cursor', 'cursor-agent'],
  home: ['', '.cursor'],
  file: 'hooks.json',
  projectFile: '.cursor/hooks.json',
  head: { version: 1 },
  before: 'preToolUse',
  entries: (way) => [
    ['preToolUse', { command: commandOf(way), timeout: seconds, failClosed: true }],
    ...events(['postToolUse', 'postToolUseFailure'], { command: commandOf(way), timeout: seconds }),
  ],
  notes: [
    'Cursor shows its model the output of its own tools, and the error of any that failed, whatever a hook says; only outputs of MCP tools are redacted or withheld',
    `versions of Cursor that do not say whose an MCP tool is call it MCP:<tool>: that is <server>.<tool> ${whereKnown('has the tool')}, else mcp.<tool>`,
  ],
});

const geminiCli = inJson({
  host: 'gemini-cli',
  title: 'Gemini CLI',
  programs: ['gemini'],
  home: ['', '.gemini'],
  file: 'settings.json',
  projectFile: '.gemini/settings.json',
  before: 'BeforeTool',
  entries: (way) =>
    events(['BeforeTool', 'AfterTool'], {
      hooks: [{ name: 'tollgate', type: 'command', command: commandOf(way), timeout: seconds * 1_000 }],
    }),
  notes: [
    `versions of Gemini CLI that say mcp_<server>_<tool> alone mean <server>.<tool> ${whereKnown('begins that name')}, else it is what it says`,
  ],
});

const copilotCli = inJson({
  host: 'copilot-cli',
  title: 'Copilot CLI',
  programs: ['copilot'],
  home: ['COPILOT_HOME', '.copilot'],
  file: 'hooks/tollgate.json',
  projectFile: '.github/hooks/tollgate.json',
  head: { version: 1 },
  before: 'preToolUse',
  entries: (way) =>
    events(['preToolUse', 'postToolUse'], {
      type: 'command',
      bash: commandOf(way),
      powershell: `& ${commandOf(way)}`,
      timeoutSec: seconds,
    }),
  notes: [
    'Copilot CLI runs the call where a hook takes longer than its time limit, and shows its model the error of a call that failed',
    `Copilot CLI calls an MCP tool <server>-<tool>: that is <server>.<tool> ${whereKnown('begins that name')}, else rules know it as what it says`,
  ],
});

const codex: HostSettings = {
  title: 'Codex',
  programs: ['codex'],
  folder: (surroundings) => folderOf(surroundings, ['CODEX_HOME', '.codex']),
  file: (scope, surroundings, project) =>
    scope === 'user' ? join(folderOf(surroundings, ['CODEX_HOME', '.codex']), 'config.toml') : join(project, '.codex', 'config.toml'),
  add: (text, way) => ({
    text: addBlock(
      text,
      ['PreToolUse', 'PostToolUse'].flatMap((event) => [
        `[[hooks.${event}]]`,
        `[[hooks.${event}.hooks]]`,
        'type = "command"',
        `command = ${quoteToml(commandOf(way))}`,
        `timeout = ${seconds}`,
      ]),
    ),
    made: [],
  }),
  remove: (text) => removeBlock(text),
  isBare: (text) => text.trim() === '',
  installed: (text) => {
    const event = eventIn(text, 'PreToolUse');
    const command = unquoteToml(event?.get('command') ?? '');
    if (event === null || command === null || !isOurCommand('codex', command)) return null;
    const [matcher, beside] = [event.get('matcher'), event.get('async') === 'true'];
    const gaps = gapsIn({ matcher: matcher === undefined ? undefined : (unquoteToml(matcher) ?? matcher), async: beside });
    return { way: { kind: 'command', command }, gaps };
  },
  notes: ['Codex runs a new hook once you have reviewed it: open /hooks in Codex and trust it'],
};

function unquoteToml(text: string): string | null {
  if (/^'[^']*'$/.test(text)) return text.slice(1, -1);
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'string' ? value : null;
  } catch {
    return null;
  }
}

export const hostSettings: Readonly<Record<HostName, HostSettings>> = {
  'claude-code': claudeCode,
  codex,
  cursor,
  'gemini-cli': geminiCli,
  'copilot-cli': copilotCli,
};

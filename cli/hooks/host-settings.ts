// Defines where each host reads its hooks, and what our hooks look like in its settings.
import type { HostName } from '@tollgate/proto/contract';
import type { Surroundings } from './connection.ts';
import { orExit, orSay } from './command-line.ts';
import { commandOf, type HostSettings, limitSecondsFor, type Way } from './host.ts';
import { inJson, type Wanted } from './settings-json.ts';
import { inToml } from './settings-toml.ts';
import { inOwnFile, pluginTexts } from './plugin-file.ts';
import { pathsOf } from './paths.ts';
import type { Shell } from './shell-line.ts';

export const hostSettings: Readonly<Record<HostName, HostSettings>> = {
  'claude-code': inJson('claude-code', {
    title: 'Claude Code',
    programs: ['claude'],
    home: ['CLAUDE_CONFIG_DIR', '.claude'],
    file: 'settings.json',
    projectFile: '.claude/settings.json',
    before: 'PreToolUse',
    entries: (way) => events(['PreToolUse', 'PostToolUse', 'PostToolUseFailure'], { matcher: '*', hooks: [claudeHandler(way)] }),
    notes: ['Claude Code shows its model the error of a failed call, whatever a hook answers'],
  }),
  codex: inToml('codex', {
    title: 'Codex',
    programs: ['codex'],
    home: ['CODEX_HOME', '.codex'],
    file: 'config.toml',
    projectFile: '.codex/config.toml',
    before: 'PreToolUse',
    events: ['PreToolUse', 'PostToolUse'],
    // Codex runs the line with the user's own shell, and on Windows with cmd.exe, which accepts the same line.
    command: (way) => orExit(commandOf(way)),
    notes: ['Codex runs a new hook only after you have trusted it: open /hooks in Codex'],
  }),
  cursor: inJson('cursor', {
    title: 'Cursor',
    programs: ['cursor', 'cursor-agent'],
    home: ['', '.cursor'],
    file: 'hooks.json',
    projectFile: '.cursor/hooks.json',
    head: { version: 1 },
    before: 'preToolUse',
    entries: (way) => [
      ['preToolUse', { command: cursorCommand(way), timeout: limitOf(way), failClosed: true }],
      ...events(['postToolUse', 'postToolUseFailure'], { command: cursorCommand(way), timeout: limitOf(way) }),
    ],
    notes: [
      'Cursor shows its model the output of its own tools and the error of a failed tool, whatever a hook answers; only outputs of MCP tools are redacted or withheld',
      `versions of Cursor that do not name the server of an MCP tool call it MCP:<tool>. It becomes <server>.<tool> ${whereKnown('has the tool')}; otherwise mcp.<tool>`,
    ],
  }),
  'gemini-cli': inJson('gemini-cli', {
    title: 'Gemini CLI',
    programs: ['gemini'],
    home: ['', '.gemini'],
    file: 'settings.json',
    projectFile: '.gemini/settings.json',
    before: 'BeforeTool',
    entries: (way) =>
      events(['BeforeTool', 'AfterTool'], {
        hooks: [{ name: 'tollgate', type: 'command', command: orExit(commandOf(way), shellOf(way)), timeout: limitOf(way) * 1_000 }],
      }),
    notes: [
      `some versions of Gemini CLI send only mcp_<server>_<tool>. It becomes <server>.<tool> ${whereKnown('begins that name')}; otherwise the name stays`,
    ],
  }),
  'copilot-cli': inJson('copilot-cli', {
    title: 'Copilot CLI',
    programs: ['copilot'],
    home: ['COPILOT_HOME', '.copilot'],
    file: 'hooks/tollgate.json',
    projectFile: '.github/hooks/tollgate.json',
    head: { version: 1 },
    before: 'preToolUse',
    entries: (way) => [
      ['preToolUse', copilotHandler(way, { permissionDecision: 'deny', permissionDecisionReason: programGone })],
      ['postToolUse', copilotHandler(way, { modifiedResult: { resultType: 'success', textResultForLlm: programGone } })],
      // This hook exists only for the audit entry. Its answer cannot change the error.
      ['postToolUseFailure', copilotHandler(way, {})],
    ],
    notes: [
      'Copilot CLI runs the call if a hook exceeds its time limit, and shows its model the error of a failed call',
      `Copilot CLI calls an MCP tool <server>-<tool>. It becomes <server>.<tool> ${whereKnown('begins that name')}; otherwise the name stays`,
    ],
  }),
  opencode: inOwnFile('opencode', {
    title: 'OpenCode',
    programs: ['opencode'],
    // The folder is the same on every platform, including Windows.
    folder: (here) => pathsOf(here).join(here.env['XDG_CONFIG_HOME'] || pathsOf(here).join(here.home, '.config'), 'opencode'),
    file: 'plugins/tollgate.js',
    projectFile: '.opencode/plugins/tollgate.js',
    written: pluginTexts.opencode,
    notes: [
      'OpenCode loads plugins when it starts: restart it; with --pure or OPENCODE_PURE=1 it loads none, and calls run without a decision',
      `OpenCode calls an MCP tool <server>_<tool>. It becomes <server>.<tool> ${whereKnown('begins that name')}; otherwise the name stays`,
    ],
  }),
  cline: inOwnFile('cline', {
    title: 'Cline',
    programs: ['cline'],
    folder: (here) => here.env['CLINE_DIR']?.trim() || pathsOf(here).join(clineHome(here), '.cline'),
    file: 'plugins/tollgate.js',
    projectFile: '.cline/plugins/tollgate.js',
    written: pluginTexts.cline,
    notes: [
      'Cline loads plugins when a session starts: start a new one; a decision that takes 2.5 s is a denial',
      'Cline runs calls without a decision if its plugins take longer than 4 s to load, as on a busy machine: set CLINE_PLUGIN_IMPORT_TIMEOUT_MS=60000 where it starts, and end its process --cline-hub-daemon, which keeps the old limit',
      `Cline calls an MCP tool <server>__<tool>, followed by _ and 8 digits if it changed or shortened the name. It becomes <server>.<tool> ${whereKnown('has that form')}; otherwise the name stays`,
    ],
  }),
};

/**
 * Returns the home folder that Cline uses. Cline reads HOME first, also on Windows, where other programs do not read
 * it.
 */
function clineHome({ env, home }: Surroundings): string {
  const said = env['HOME']?.trim();
  return said === undefined || said === '' || said === '~' ? home : said;
}

/** The reason that is shown to the model when tollgate could not be started. */
const programGone = 'outage: the program tollgate could not be started; run tollgate hooks install again';

const limitOf = (way: Way): number => limitSecondsFor(way.waitMs ?? null);

const shellOf = (way: Way): Shell => (way.kind === 'command' ? (way.shell ?? 'sh') : 'sh');

/**
 * Returns the line for Cursor. It is not known which shell Cursor uses on Windows, so nothing is added to the line on
 * Windows. There, only `failClosed` denies the call if the program fails.
 */
const cursorCommand = (way: Way): string => (shellOf(way) === 'sh' ? orExit(commandOf(way)) : commandOf(way));

/**
 * Older versions of Copilot CLI do not treat a failed hook as a denial. Therefore the line prints this answer if the
 * program fails.
 */
function copilotHandler(way: Way, answer: object): object {
  const said = JSON.stringify(answer);
  return {
    type: 'command',
    bash: orSay(commandOf(way), said),
    powershell: orSay(commandOf(way), said, 'powershell'),
    timeoutSec: limitOf(way),
  };
}

function claudeHandler(way: Way): object {
  // Claude Code starts sh on every machine. On Windows it starts the sh of Git.
  if (way.kind === 'command') return { type: 'command', command: orExit(way.command), timeout: limitOf(way) };
  const { agent = '', hostVersion = null, waitMs = null } = way;
  return {
    type: 'http',
    url: way.url,
    headers: {
      Authorization: 'Bearer $TOLLGATE_KEY',
      ...(agent === '' ? {} : { 'X-Tollgate-Agent': agent }),
      ...(hostVersion === null ? {} : { 'X-Tollgate-Host-Version': hostVersion }),
      ...(waitMs === null ? {} : { 'X-Tollgate-Wait-Ms': String(waitMs) }),
    },
    allowedEnvVars: ['TOLLGATE_KEY'],
    timeout: limitOf(way),
  };
}

/**
 * Returns a text about a host whose tool names do not contain the server. The text explains in which cases the server
 * can still be found. The tool then gets our form of the name, `<server>.<tool>`.
 */
function whereKnown(how: string): string {
  return `by toolNames of the workspace policy, or if exactly one server that ${how} is registered or is in the rules (with two, the call is denied)`;
}

function events(names: readonly string[], entry: unknown): Wanted {
  return names.map((name) => [name, entry]);
}

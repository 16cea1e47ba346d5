// Examines one hook in a host's settings: whether it is ours, how the host asks with it, and why the host would not ask
// before every call or would not block a call.
import type { HostName } from '@tollgate/proto/contract';
import { isRow, type Row } from '../api/answer.ts';
import { limitMsFor, readWait } from '../commands/hook.ts';
import { isOurLine, lineProblem, readHookLine } from './command-line.ts';
import { type Installed, limitSecondsFor, type Way } from './host.ts';
import { type OnPlatform, platformOf } from './paths.ts';
import type { Shell } from './shell-line.ts';

/** The fields that can contain the line of a hook. Some hosts have a separate field for each shell. */
const lineNames = ['command', 'bash', 'powershell'] as const;

/** Whether `tollgate hooks uninstall` removes the hook, on any machine. */
export function isOurs(host: HostName, handler: unknown): boolean {
  if (!isRow(handler)) return false;
  if (typeof handler['url'] === 'string') return isOurUrl(host, handler['url']);
  return lineNames.some((name) => isLine(handler[name], (line) => isOurLine(host, line)));
}

/** Returns how the host asks with this hook on this machine. Null: none of the hook's lines starts tollgate. */
export function wayOf(host: HostName, handler: unknown, on: OnPlatform = {}): Way | null {
  if (!isRow(handler)) return null;
  if (typeof handler['url'] === 'string') return isOurUrl(host, handler['url']) ? httpWay(handler['url'], handler) : null;
  if (!lineNames.some((name) => isLine(handler[name], (line) => readHookLine(host, line) !== null))) return null;
  return { kind: 'command', ...lineRun(host, handler, on) };
}

const isOurUrl = (host: HostName, url: string): boolean => url.endsWith(`/hooks/${host}`);

const isLine = (value: unknown, test: (line: string) => boolean): boolean => typeof value === 'string' && test(value);

/**
 * Returns the line that the host passes to a shell on this machine, and that shell. The line is empty if the hook has
 * none for it.
 */
function lineRun(host: HostName, handler: Row, on: OnPlatform): { readonly command: string; readonly shell: Shell } {
  const shell = shellOf(host, handler, platformOf(on));
  const names = host !== 'copilot-cli' ? ['command'] : [shell === 'powershell' ? 'powershell' : 'bash', 'command'];
  const command = names.map((name) => handler[name]).find((line) => typeof line === 'string');
  return { command: command ?? '', shell };
}

function shellOf(host: HostName, handler: Row, platform: NodeJS.Platform): Shell {
  // Claude Code starts sh on every machine, unless the hook names another shell. On Windows it starts the sh of Git.
  if (host === 'claude-code') return handler['shell'] === 'powershell' ? 'powershell' : 'sh';
  if (platform !== 'win32') return 'sh';
  return host === 'gemini-cli' || host === 'copilot-cli' ? 'powershell' : 'cmd';
}

function httpWay(url: string, handler: Row): Way {
  const headers = Object.entries(isRow(handler['headers']) ? handler['headers'] : {}).map(
    ([name, value]) => [name, String(value)] as const,
  );
  const said = new Map(headers.map(([name, value]) => [name.toLowerCase(), value]));
  const allowed = handler['allowedEnvVars'];
  return {
    kind: 'http',
    url,
    agent: said.get('x-tollgate-agent') ?? '',
    hostVersion: said.get('x-tollgate-host-version') ?? null,
    waitMs: readWait(said.get('x-tollgate-wait-ms') ?? ''),
    headers,
    allowedEnvVars: Array.isArray(allowed) ? allowed.filter((name) => typeof name === 'string') : [],
  };
}

export interface Found {
  readonly handler: unknown;
  /**
   * The group that contains the handler; its settings apply to all its handlers. Without a group: the handler itself.
   */
  readonly group: unknown;
}

/**
 * Returns our hook for the event before a call: the first one that blocks correctly, otherwise the first one. Null:
 * there is none.
 */
export function installedIn(host: HostName, found: readonly Found[], on: OnPlatform = {}): Installed | null {
  const ours = found.flatMap(({ handler, group }) => {
    const way = wayOf(host, handler, on);
    if (way === null || !isRow(handler)) return [];
    const line = way.kind === 'command' ? lineGap(host, way) : null;
    const gaps = [...gapsIn(group), ...gapsIn(handler), ...timeGaps(host, handler, waitMsOf(host, way)), ...(line === null ? [] : [line])];
    const open = host === 'cursor' && handler['failClosed'] !== true ? [failsOpen] : [];
    return [{ way, gaps: [...new Set([...gaps, ...open])], ...limitIn(host, handler) }];
  });
  return ours.find(({ gaps }) => gaps.length === 0) ?? ours[0] ?? null;
}

function lineGap(host: HostName, { command, shell = 'sh' }: Extract<Way, { kind: 'command' }>): string | null {
  if (command === '') return `the hook has no command for the shell of this machine; run tollgate hooks install ${host} again`;
  return lineProblem(host, command, shell);
}

const failsOpen = 'Cursor runs the call if the hook fails, because "failClosed" is not true; set it to true';

const everyTool: ReadonlySet<unknown> = new Set([undefined, null, '', '*', '.*']);

/** Returns, in words, why the host does not ask the hook before every call, or does not wait for it. */
export function gapsIn(said: unknown): readonly string[] {
  if (!isRow(said)) return [];
  const { matcher, if: condition } = said;
  const background = ['async', 'asyncRewake'].filter((name) => said[name] !== undefined && said[name] !== false);
  return [
    ...(everyTool.has(matcher) ? [] : [`the hook is only for tools that match ${JSON.stringify(matcher)}`]),
    ...(condition === undefined ? [] : [`the hook is only for calls that match ${JSON.stringify(condition)}`]),
    ...background.map((name) => `the call does not wait for the hook, which is "${name}"; remove that`),
    ...(said['once'] === true ? ['the hook runs only for the first call, because of "once"; remove that'] : []),
  ];
}

/**
 * For each host: the keys that set the time limit of a hook, and the unit of the limit as the number of units in one
 * second.
 */
const timeLimits: Readonly<Partial<Record<HostName, { readonly names: readonly string[]; readonly perSecond: number }>>> = {
  'claude-code': { names: ['timeout'], perSecond: 1 },
  codex: { names: ['timeout'], perSecond: 1 },
  cursor: { names: ['timeout'], perSecond: 1 },
  'gemini-cli': { names: ['timeout'], perSecond: 1_000 },
  'copilot-cli': { names: ['timeoutSec', 'timeout'], perSecond: 1 },
};

/** Every host waits this long for a hook without a time limit, in seconds. */
const shortLimit = 10;

/** How long a call waits for a person in this hook, in ms; null: the hook does not say it. */
export const waitMsOf = (host: HostName, way: Way): number | null =>
  way.kind === 'http' ? (way.waitMs ?? null) : (readHookLine(host, way.command)?.waitMs ?? null);

/** Returns the time limit of a hook: the shortest, if two names are set. */
function limitIn(host: HostName, handler: Row): Pick<Installed, 'limitSeconds'> {
  const { names, perSecond } = timeLimits[host] ?? { names: [], perSecond: 1 };
  const limits = names.map((name) => handler[name]).filter((limit) => typeof limit === 'number');
  return limits.length === 0 ? {} : { limitSeconds: Math.min(...limits) / perSecond };
}

/**
 * Returns, in words, what is wrong with the time limit of a hook. A host runs the call if a hook takes too long. The
 * host must therefore wait longer than `tollgate hook`, which sends a denial at its own time limit. If two names are
 * set, both are checked.
 */
function timeGaps(host: HostName, handler: Row, waitMs: number | null): readonly string[] {
  const { names, perSecond } = timeLimits[host] ?? { names: [], perSecond: 1 };
  const right = `correct is ${limitSecondsFor(waitMs) * perSecond}`;
  const needed = limitMsFor(waitMs) / 1_000;
  // Hosts have different limits of their own, some of them shorter than this wait.
  if (waitMs !== null && needed > shortLimit && names.length > 0 && names.every((name) => handler[name] === undefined))
    return [`the hook may take ${needed} s, and its "${names[0] ?? ''}" is not set; ${right}`];
  return names.flatMap((name) => {
    const limit = handler[name];
    if (limit === undefined) return [];
    if (typeof limit !== 'number') return [`"${name}" of the hook is ${JSON.stringify(limit)} and not a number; ${right}`];
    const seconds = limit / perSecond;
    return seconds > needed ? [] : [`the host waits ${seconds} s for the hook ("${name}": ${limit}), which may take ${needed} s; ${right}`];
  });
}

// One hook as it stands in a host's settings: whether it is ours, by which way it asks, and what keeps it from being asked
// before every call.
import type { HostName } from '@tollgate/proto/contract';
import { isRow, type Row } from '../answer.ts';
import { readHookLine } from './command-line.ts';
import type { Way } from './host.ts';

/** The way that a handler asks us by; null: it is none of ours. */
export function wayOf(host: HostName, handler: unknown): Way | null {
  if (!isRow(handler)) return null;
  if (typeof handler['url'] === 'string') return handler['url'].endsWith(`/hooks/${host}`) ? httpWay(handler['url'], handler) : null;
  // Hosts that say it for each shell have a name for each.
  for (const command of [handler['command'], handler['bash'], handler['powershell']])
    if (typeof command === 'string' && isOurCommand(host, command)) return { kind: 'command', command };
  return null;
}

function httpWay(url: string, { headers }: Row): Way {
  const said = new Map(Object.entries(isRow(headers) ? headers : {}).map(([name, value]) => [name.toLowerCase(), String(value)]));
  return { kind: 'http', url, agent: said.get('x-tollgate-agent') ?? '', hostVersion: said.get('x-tollgate-host-version') ?? null };
}

export const isOurCommand = (host: HostName, text: string): boolean => readHookLine(host, text) !== null;

const everyTool: ReadonlySet<unknown> = new Set([undefined, null, '', '*', '.*']);

/** Why the host does not wait for it before every call, in words. */
export function gapsIn(said: unknown): readonly string[] {
  if (!isRow(said)) return [];
  const { matcher, if: condition, async: beside } = said;
  return [
    ...(everyTool.has(matcher) ? [] : [`the hook is only for tools that match ${JSON.stringify(matcher)}`]),
    ...(condition === undefined ? [] : [`the hook is only for calls that match ${JSON.stringify(condition)}`]),
    ...(beside === undefined || beside === false ? [] : ['the call does not wait for the hook, which is "async"']),
  ];
}

// One hook as it stands in a host's settings: whether it is ours, by which way it asks, and what keeps it from being asked
// before every call.
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../answer.ts';
import type { Way } from './host.ts';

/** The way that a handler asks us by; null: it is none of ours. */
export function wayOf(host: HostName, handler: unknown): Way | null {
  if (!isRow(handler)) return null;
  const { url, command, bash } = handler;
  if (typeof url === 'string') return url.endsWith(`/hooks/${host}`) ? { kind: 'http', url } : null;
  const text = typeof command === 'string' ? command : typeof bash === 'string' ? bash : '';
  return isOurCommand(host, text) ? { kind: 'command', command: text } : null;
}

export const isOurCommand = (host: HostName, text: string): boolean =>
  text.endsWith(` hook ${host}`) && /(?:tollgate|bin\.js)["']? hook \S+$/.test(text);

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

// Determines which hooks Codex runs: the hooks that its user has trusted in their present form. Codex (0.169) stores
// for each hook, by its file, event and position, whether it is disabled and the digest of the trusted form. A hook
// that was changed since then is not run.
import { createHash } from 'node:crypto';
import { isRow, type Row } from '../api/answer.ts';
import type { Place } from './hook-places.ts';

export type Trust = 'trusted' | 'untrusted' | 'changed' | 'disabled';

/** Codex's stored name of an event, such as `pre_tool_use`. */
export const eventKey = (event: string): string => event.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

export const stateKey = (path: string, { event, group, at }: Pick<Place, 'event' | 'group' | 'at'>): string =>
  `${path}:${eventKey(event)}:${group}:${at}`;

/** The timeout that Codex uses when a hook does not set one. */
const standardSeconds = 600;

/** Computed as Codex does: the digest of the fields that Codex reads of the hook, as JSON with sorted names. */
export function hookHash({ event, handler, table }: Pick<Place, 'event' | 'handler' | 'table'>): string {
  const said: Row = isRow(handler) ? handler : {};
  const hook = {
    async: said['async'] === true,
    command: said['command'],
    ...(said['statusMessage'] === undefined ? {} : { statusMessage: said['statusMessage'] }),
    timeout: Number(said['timeout'] ?? standardSeconds),
    type: said['type'],
  };
  const identity = {
    event_name: eventKey(event),
    hooks: [hook],
    ...(table['matcher'] === undefined ? {} : { matcher: table['matcher'] }),
  };
  return `sha256:${createHash('sha256').update(JSON.stringify(identity)).digest('hex')}`;
}

/**
 * Returns the trust that the user's settings (`states`) store for a hook in the file at any of `paths`, because a link
 * has two names.
 */
export function trustOf(states: Row, paths: readonly string[], place: Place): Trust {
  const state = paths.map((path) => states[stateKey(path, place)]).find(isRow);
  if (state === undefined) return 'untrusted';
  if (state['enabled'] === false) return 'disabled';
  if (typeof state['trusted_hash'] !== 'string') return 'untrusted';
  return state['trusted_hash'] === hookHash(place) ? 'trusted' : 'changed';
}

// Which hooks Codex runs: those that its user has trusted, as they are now. Codex (0.169) keeps for each, under its file, event
// and place, whether it is switched off and the digest of what was trusted; a hook that was changed since is not run.
import { createHash } from 'node:crypto';
import { isRow, type Row } from '../answer.ts';
import type { Place } from './hook-places.ts';

export type Trust = 'trusted' | 'untrusted' | 'changed' | 'disabled';

/** Codex's name for an event in what it keeps: `pre_tool_use`. */
export const eventKey = (event: string): string => event.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

export const stateKey = (path: string, { event, group, at }: Pick<Place, 'event' | 'group' | 'at'>): string =>
  `${path}:${eventKey(event)}:${group}:${at}`;

/** What Codex waits where a hook does not say. */
const standardSeconds = 600;

/** As Codex makes it: of what it understands of the hook, in JSON whose names are sorted. */
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

/** What the user's settings, `states`, say of a hook in the file at any of `paths`: a link has two names. */
export function trustOf(states: Row, paths: readonly string[], place: Place): Trust {
  const state = paths.map((path) => states[stateKey(path, place)]).find(isRow);
  if (state === undefined) return 'untrusted';
  if (state['enabled'] === false) return 'disabled';
  if (typeof state['trusted_hash'] !== 'string') return 'untrusted';
  return state['trusted_hash'] === hookHash(place) ? 'trusted' : 'changed';
}

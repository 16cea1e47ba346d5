// Determines which hooks Codex runs: the hooks that its user has trusted in their present form. For each hook, Codex
// (0.169) stores whether the hook is disabled, and the digest of the form that was trusted. The key of this data
// consists of the file, the event and the position of the hook. Codex does not run a hook that was changed after the
// user trusted it.
//
// When our hooks are removed from a file, the stored data about the hooks of that file is updated: keys of our hooks
// are removed, and keys of later hooks get their new positions.
import { createHash } from 'node:crypto';
import { isRow, type Row } from '../api/answer.ts';
import { type Place, placesIn, type Removal, statesIn } from './hook-places.ts';
import { changeStateKeys, parseToml } from './edit-toml.ts';

export type Trust = 'trusted' | 'untrusted' | 'changed' | 'disabled';

/** Returns the name under which Codex stores an event, such as `pre_tool_use`. */
const eventKey = (event: string): string => event.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

export const stateKey = (path: string, { event, group, at }: Pick<Place, 'event' | 'group' | 'at'>): string =>
  `${path}:${eventKey(event)}:${group}:${at}`;

/** The timeout that Codex uses when a hook does not set one. */
const standardSeconds = 600;

/** Returns the digest of a hook as Codex computes it: over the fields that Codex reads, as JSON with sorted names. */
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
 * Returns whether Codex trusts a hook, from the data in the user's settings (`states`). `paths`: all paths of the file
 * with the hook, because a file behind a link has two paths.
 */
export function trustOf(states: Row, paths: readonly string[], place: Place): Trust {
  const state = paths.map((path) => states[stateKey(path, place)]).find(isRow);
  if (state === undefined) return 'untrusted';
  if (state['enabled'] === false) return 'disabled';
  if (typeof state['trusted_hash'] !== 'string') return 'untrusted';
  return state['trusted_hash'] === hookHash(place) ? 'trusted' : 'changed';
}

interface Departure {
  /** All paths of the file with the hooks; empty: the file is not known. */
  readonly names: readonly string[];
  readonly removals: readonly Removal[];
  /** The content of the file without the removed hooks. */
  readonly left: Row;
  /** The digests of all our hooks that Codex may have trusted; empty when our hooks stay. */
  readonly hashes: ReadonlySet<string>;
}

/** Updates the data about hooks in the user's settings (`text`) after hooks were removed from a file. */
export function followDeparture(text: string, departure: Departure): string {
  const states = statesIn(parseToml(text));
  const moves = new Map<string, string>();
  const own: string[] = [];
  const gone: string[] = [];
  for (const [key, state] of Object.entries(states)) {
    const outcome = outcomeOf(key, state, departure);
    if (outcome.kind === 'gone') gone.push(key);
    else if (outcome.kind === 'ours') own.push(key);
    else if (outcome.kind === 'kept' && outcome.key !== key) moves.set(key, outcome.key);
  }
  const taken = new Set(moves.values());
  // After the removal, another hook may have the position that our hook has now. The key stays only if Codex already
  // stores the trust of that other hook under it.
  gone.push(...own.filter((key) => taken.has(key) || !isTrusted(key, states[key], departure)));
  return changeStateKeys(text, gone, moves);
}

/**
 * `kept`: the data stays, under this key. `gone`: it is removed. `ours`: the key is at the position of a hook that is
 * removed.
 */
type Outcome = { readonly kind: 'kept'; readonly key: string } | { readonly kind: 'gone' } | { readonly kind: 'ours' };

function outcomeOf(key: string, state: unknown, { names, removals, hashes }: Departure): Outcome {
  const hash = isRow(state) ? state['trusted_hash'] : undefined;
  const isOurs = typeof hash === 'string' && hashes.has(hash);
  const name = names.find((one) => key.startsWith(`${one}:`));
  if (name === undefined) return isOurs && names.length === 0 ? { kind: 'gone' } : { kind: 'kept', key };
  if (isOurs) return { kind: 'gone' };
  const [, event, group, at] = /^(\w+):(\d+):(\d+)$/.exec(key.slice(name.length + 1)) ?? [];
  if (event === undefined) return { kind: 'kept', key };
  let position: Position | null = { event, group: Number(group), at: Number(at) };
  for (const removal of removals) position = position === null ? null : positionAfter(position, removal);
  return position === null ? { kind: 'ours' } : { kind: 'kept', key: `${name}:${position.event}:${position.group}:${position.at}` };
}

interface Position {
  readonly event: string;
  readonly group: number;
  readonly at: number;
}

/** Returns the position of a hook after a removal. Null: the removed hook was at this position. */
function positionAfter(position: Position, { event, group, at, isAlone }: Removal): Position | null {
  if (position.event !== eventKey(event) || position.group < group) return position;
  if (position.group > group) return isAlone ? { ...position, group: position.group - 1 } : position;
  if (position.at === at) return null;
  return position.at > at ? { ...position, at: position.at - 1 } : position;
}

/** Whether the stored trust belongs to the hook that has this key after the removal. */
function isTrusted(key: string, state: unknown, { names, left }: Departure): boolean {
  const hash = isRow(state) ? state['trusted_hash'] : undefined;
  return placesIn(left).some((place) => names.some((name) => stateKey(name, place) === key) && hookHash(place) === hash);
}

// Updates what Codex stores about hooks, in `hooks.state` of its user's settings, when our hooks are removed from a
// file. A key names the file and the position of a hook. The keys of our hooks are removed, and the keys of later hooks
// are changed to the new positions of these hooks.
import { isRow, type Row } from '../api/answer.ts';
import { eventKey, hookHash, stateKey } from './codex-trust.ts';
import { placesIn, type Removal, statesIn } from './hook-places.ts';
import { changeStateKeys, parseToml } from './edit-toml.ts';

export interface Departure {
  /** All names of the file with the hooks; empty: the file is not known. */
  readonly names: readonly string[];
  readonly removals: readonly Removal[];
  /** The content of the file without the removed hooks. */
  readonly left: Row;
  /** The digests of all our hooks that Codex may have trusted; empty when our hooks stay. */
  readonly hashes: ReadonlySet<string>;
}

/** `text`: the user's settings. */
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
  // At the position of our hook, Codex may store the trust of another hook, which has that position now.
  gone.push(...own.filter((key) => taken.has(key) || !isTrusted(key, states[key], departure)));
  return changeStateKeys(text, gone, moves);
}

/** `ours`: the key is at the position of a hook that is removed. */
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

/** Null: the position is the removed one. */
function positionAfter(position: Position, { event, group, at, isAlone }: Removal): Position | null {
  if (position.event !== eventKey(event) || position.group < group) return position;
  if (position.group > group) return isAlone ? { ...position, group: position.group - 1 } : position;
  if (position.at === at) return null;
  return position.at > at ? { ...position, at: position.at - 1 } : position;
}

/** Whether the hook that has this key from now on is the hook that was trusted. */
function isTrusted(key: string, state: unknown, { names, left }: Departure): boolean {
  const hash = isRow(state) ? state['trusted_hash'] : undefined;
  return placesIn(left).some((place) => names.some((name) => stateKey(name, place) === key) && hookHash(place) === hash);
}

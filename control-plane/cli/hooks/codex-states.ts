// What Codex keeps of hooks, in `hooks.state` of its user's settings, once hooks of ours leave a file. A key names the file and
// the position of a hook: the keys of ours go, and those of hooks behind them follow their hooks to the new positions.
import { isRow, type Row } from '../answer.ts';
import { eventKey, hookHash, stateKey } from './codex-trust.ts';
import { placesIn, type Removal, statesIn } from './hook-places.ts';
import { parseToml } from './toml.ts';
import { changeStateKeys } from './toml-state-keys.ts';

export interface Departure {
  /** The file with the hooks, by all its names; none: it is not known. */
  readonly names: readonly string[];
  readonly removals: readonly Removal[];
  /** What the file says without them. */
  readonly left: Row;
  /** Of every hook of ours that Codex may have trusted; none where ours stay. */
  readonly hashes: ReadonlySet<string>;
}

/** `text` of the user's settings. */
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
  // At the position of ours may be kept that another hook is trusted, which takes that position now.
  gone.push(...own.filter((key) => taken.has(key) || !isTrusted(key, states[key], departure)));
  return changeStateKeys(text, gone, moves);
}

/** `ours`: it is at the position of one that leaves. */
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

/** Null: it is the one that was removed. */
function positionAfter(position: Position, { event, group, at, isAlone }: Removal): Position | null {
  if (position.event !== eventKey(event) || position.group < group) return position;
  if (position.group > group) return isAlone ? { ...position, group: position.group - 1 } : position;
  if (position.at === at) return null;
  return position.at > at ? { ...position, at: position.at - 1 } : position;
}

/** Whether the hook that has this key from now on is the one that was trusted. */
function isTrusted(key: string, state: unknown, { names, left }: Departure): boolean {
  const hash = isRow(state) ? state['trusted_hash'] : undefined;
  return placesIn(left).some((place) => names.some((name) => stateKey(name, place) === key) && hookHash(place) === hash);
}

// Hosts that read their hooks from a TOML file: Codex.
import type { HostName } from '@tollgate/proto/contract';
import { followDeparture } from './codex-states.ts';
import { hookHash } from './codex-trust.ts';
import { installedIn, isOurs as isOurHandler } from './handler.ts';
import { type HostFacts, type HostSettings, placesOf, timeoutSeconds, type Way } from './host.ts';
import { type Leaves, leavesForNew, type Place, placesIn, removalsIn } from './hook-places.ts';
import { type Handler, putTables, removeTables, type Tables } from './settings-toml.ts';
import { behindMark, parseToml } from './edit-toml.ts';

interface InToml extends HostFacts {
  readonly events: readonly string[];
  readonly command: (way: Way) => string;
}

/** Precedes the digest of a hook that Codex may have stored as trusted. */
const hashMark = 'hash:';

export function inToml(host: HostName, { events, command, ...facts }: InToml): HostSettings {
  const { title, programs, notes, before } = facts;
  const isOurs = (handler: unknown): boolean => isOurHandler(host, handler);
  const oursIn = (text: string): readonly Place[] => placesIn(parseToml(text)).filter(({ handler }) => isOurs(handler));
  const all: Leaves = ({ handler }) => isOurs(handler);
  const surplus = leavesForNew(isOurs, events);
  const hashesOf = (text: string, made: readonly string[]): ReadonlySet<string> =>
    new Set([...made.filter((one) => one.startsWith(hashMark)).map((one) => one.slice(hashMark.length)), ...oursIn(text).map(hookHash)]);
  const follow: NonNullable<HostSettings['follow']> = (states, { names, text, made, isReplaced }) => {
    const hashes = isReplaced ? new Set<string>() : hashesOf(text, made);
    const { removals, left } = removalsIn(parseToml(text), isReplaced ? surplus : all);
    return followDeparture(states, { names, hashes, removals, left });
  };
  return {
    title,
    programs,
    notes,
    ...placesOf(facts),
    add: (text, way, { names = [] } = {}) => {
      const handler: Handler = { type: 'command', command: command(way), timeout: timeoutSeconds };
      const tables: Tables = events.map((event) => [event, handler]);
      return {
        text: behindMark(text, (bare) => putTables(follow(bare, { names, text, made: [], isReplaced: true }), tables, isOurs)),
        made: events.map((event) => hashMark + hookHash({ event, handler, table: {} })),
      };
    },
    remove: (text, made, { names = [] } = {}) =>
      behindMark(text, (bare) => removeTables(follow(bare, { names, text, made, isReplaced: false }), { leaves: all, isOurs })),
    follow: (text, departure) => behindMark(text, (bare) => follow(bare, departure)),
    isBare: (text) => text.trim() === '',
    ours: (text) => oursIn(text).map(({ event, handler, table }) => [event, handler, { ...table, hooks: null }]),
    installed: (text, on) => {
      const found = placesIn(parseToml(text)).filter(({ event }) => event === before);
      return installedIn(
        host,
        found.map(({ handler, table }) => ({ handler, group: table })),
        on,
      );
    },
  };
}

// Hosts whose hooks stand in a TOML file: Codex.
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../answer.ts';
import { hookHash, stateKey } from './codex-trust.ts';
import { installedIn, isOurs as isOurHandler } from './handler.ts';
import { type HostFacts, type HostSettings, placesOf, timeoutSeconds, type Way } from './host.ts';
import { addTables, type Handler, type Ours, type Place, placesIn, removeStates, removeTables, type Tables } from './settings-toml.ts';
import { parseToml } from './toml.ts';

interface InToml extends HostFacts {
  readonly events: readonly string[];
  readonly command: (way: Way) => string;
}

/** Of a hook whose digest Codex may have kept as trusted. */
const hashMark = 'hash:';

export function inToml(host: HostName, { events, command, ...facts }: InToml): HostSettings {
  const { title, programs, notes, before } = facts;
  const isOurs = (handler: unknown): boolean => isOurHandler(host, handler);
  const oursIn = (text: string): readonly Place[] => placesIn(parseToml(text)).filter(({ handler }) => isOurs(handler));
  return {
    title,
    programs,
    notes,
    ...placesOf(facts),
    add: (text, way) => {
      const handler: Handler = { type: 'command', command: command(way), timeout: timeoutSeconds };
      const tables: Tables = events.map((event) => [event, handler]);
      return { text: addTables(text, tables), made: events.map((event) => hashMark + hookHash({ event, handler, table: {} })) };
    },
    remove: (text, made, { path, keepsState } = {}) =>
      removeTables(text, { isOurs, isOurState: keepsState === true ? () => false : stateTest(oursIn(text), made, path) }),
    forget: (text, { path, text: hooks, made }) => {
      const isOurState = stateTest(oursIn(hooks), made, path);
      return removeStates(text, (key, state) => key.startsWith(`${path}:`) && isOurState(key, state));
    },
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

/** By what was trusted; or, where the hook was only switched off, by its place in this file. */
function stateTest(ours: readonly Place[], made: readonly string[], path: string | undefined): Ours['isOurState'] {
  const hashes = new Set([
    ...made.filter((one) => one.startsWith(hashMark)).map((one) => one.slice(hashMark.length)),
    ...ours.map(hookHash),
  ]);
  const keys = new Set(path === undefined ? [] : ours.map((place) => stateKey(path, place)));
  return (key, state) => {
    const hash = isRow(state) ? state['trusted_hash'] : undefined;
    return typeof hash === 'string' ? hashes.has(hash) : keys.has(key);
  };
}

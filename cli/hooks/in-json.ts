// Hosts that read their hooks from a JSON file, with a list for each event.
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../api/answer.ts';
import { installedIn, isOurs } from './handler.ts';
import { type HostFacts, type HostSettings, placesOf, type Way } from './host.ts';
import { addHooks, handlersIn, removeHooks, saysNothing, type Wanted } from './settings-json.ts';

interface InJson extends HostFacts {
  readonly head?: Readonly<Record<string, unknown>>;
  readonly entries: (way: Way) => Wanted;
}

export function inJson(host: HostName, { entries, head = {}, ...facts }: InJson): HostSettings {
  const { title, programs, notes, before } = facts;
  const remove = (text: string, made: readonly string[]): string => removeHooks(text, (handler) => isOurs(host, handler), made);
  return {
    title,
    programs,
    notes,
    ...placesOf(facts),
    add: (text, way, { made = [] } = {}) => addHooks(remove(text, made), entries(way), head),
    remove,
    isBare: saysNothing,
    ours: (text) =>
      handlersIn(text)
        .filter(([, handler]) => isOurs(host, handler))
        .map(([event, handler, group]) => [event, handler, isRow(group) && 'hooks' in group ? { ...group, hooks: null } : null]),
    installed: (text, on) => {
      const found = handlersIn(text).filter(([event]) => event === before);
      return installedIn(
        host,
        found.map(([, handler, group]) => ({ handler, group })),
        on,
      );
    },
  };
}

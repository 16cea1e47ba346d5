// Hosts whose hooks stand in a JSON file, each event with its list.
import type { HostName } from '@tollgate/proto/contract';
import { isRow } from '../answer.ts';
import { gapsIn, wayOf } from './handler.ts';
import { type HostFacts, type HostSettings, placesOf, type Way } from './host.ts';
import { addHooks, handlersIn, removeHooks, saysNothing, type Wanted } from './settings-json.ts';

interface InJson extends HostFacts {
  readonly head?: Readonly<Record<string, unknown>>;
  readonly entries: (way: Way) => Wanted;
}

export function inJson(host: HostName, { entries, head = {}, ...facts }: InJson): HostSettings {
  const { title, programs, notes, before } = facts;
  const remove = (text: string, made: readonly string[]): string => removeHooks(text, (handler) => wayOf(host, handler) !== null, made);
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
        .filter(([, handler]) => wayOf(host, handler) !== null)
        .map(([event, handler, group]) => [event, handler, isRow(group) && 'hooks' in group ? { ...group, hooks: null } : null]),
    installed: (text) => {
      const ours = handlersIn(text).flatMap(([event, handler, group]) => {
        const way = event === before ? wayOf(host, handler) : null;
        return way === null ? [] : [{ way, gaps: [...new Set([group, handler].flatMap(gapsIn))] }];
      });
      return ours.find(({ gaps }) => gaps.length === 0) ?? ours[0] ?? null;
    },
  };
}

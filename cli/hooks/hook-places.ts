// Finds the positions of hooks in a config.toml of Codex: event, group, and position in the group. Codex identifies a
// hook by its position.
import { isRow, type Row } from '../api/answer.ts';
import { gapsIn } from './handler.ts';

export interface Place {
  readonly event: string;
  readonly group: number;
  readonly at: number;
  readonly handler: unknown;
  /** The table that contains the handler. */
  readonly table: Row;
}

/** Returns every handler, in the order of the file's lists. */
export function placesIn(root: Row): readonly Place[] {
  const hooks = root['hooks'];
  if (!isRow(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    listed(groups).flatMap((table, group) =>
      isRow(table) ? listed(table['hooks']).map((handler, at) => ({ event, group, at, handler, table })) : [],
    ),
  );
}

export const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Whether the table has only this handler. Then the table is removed together with it. */
export const isAlone = ({ table }: Place): boolean => listed(table['hooks']).length === 1;

export const statesIn = (root: Row): Row => {
  const hooks = root['hooks'];
  const state = isRow(hooks) ? hooks['state'] : undefined;
  return isRow(state) ? state : {};
};

export type IsOurs = (handler: unknown) => boolean;

/** Whether a handler must be removed from a file with the content `root`. */
export type Leaves = (place: Place, root: Row) => boolean;

export interface Removal extends Pick<Place, 'event' | 'group' | 'at'> {
  readonly isAlone: boolean;
}

/**
 * Returns the removals in order, and the content of the file after all of them. The position in a removal is the
 * position after the earlier removals.
 */
export function removalsIn(root: Row, leaves: Leaves): { readonly removals: readonly Removal[]; readonly left: Row } {
  const removals: Removal[] = [];
  let left = root;
  for (;;) {
    const place = placesIn(left).find((one) => leaves(one, left));
    if (place === undefined) return { removals, left };
    removals.push({ event: place.event, group: place.group, at: place.at, isAlone: isAlone(place) });
    left = withoutPlace(left, place);
  }
}

/**
 * Returns a test for the handlers that must be removed before our new ones are written. For each event, the first of
 * our handlers that can stay is not removed, but replaced in place. A handler can stay if it is alone in its table, or
 * if its table is called for every tool.
 */
export const leavesForNew =
  (isOurs: IsOurs, events: readonly string[]): Leaves =>
  (place, root) => {
    if (!isOurs(place.handler)) return false;
    const canStay = (one: Place): boolean =>
      one.event === place.event && isOurs(one.handler) && (isAlone(one) || gapsIn(one.table).length === 0);
    const kept = events.includes(place.event) ? placesIn(root).find(canStay) : undefined;
    return kept === undefined || kept.group !== place.group || kept.at !== place.at;
  };

export function withGroups(root: Row, event: string, change: (groups: readonly unknown[]) => readonly unknown[]): Row {
  const hooks = isRow(root['hooks']) ? root['hooks'] : {};
  return { ...root, hooks: { ...hooks, [event]: change(listed(hooks[event])) } };
}

/** Returns the content without one handler. A table that has no other handler is removed too. */
export const withoutPlace = (root: Row, { event, group, at }: Place): Row =>
  withGroups(root, event, (groups) =>
    groups.flatMap((table, index) => {
      if (index !== group || !isRow(table)) return [table];
      const others = listed(table['hooks']).filter((_, one) => one !== at);
      return others.length === 0 ? [] : [{ ...table, hooks: others }];
    }),
  );

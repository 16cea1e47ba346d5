// Edits the settings of hosts that read their hooks from a JSON file, with a list for each event: adds our hooks, finds
// them, and removes them. Before a text is returned, it is parsed again. Its content must be the earlier content with
// or without our hooks; otherwise the edit is rejected.
import { isDeepStrictEqual } from 'node:util';
import type { HostName } from '@tollgate/proto/contract';
import { installedIn, isOurs } from './handler.ts';
import { type HostFacts, type HostSettings, placesOf, type Way } from './host.ts';
import { isRow, type Row } from '../api/answer.ts';
import { BadSettings, unprovenEdit } from './settings-file.ts';
import {
  byteOrderMark,
  elementsOf,
  insertInto,
  keyOf,
  memberOf,
  memberValue,
  type Node,
  parseJsonc,
  removeFrom,
  startOf,
  valueOf,
} from './edit-jsonc.ts';

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

/** The wanted entry for each event. */
export type Wanted = readonly (readonly [event: string, entry: unknown])[];

interface Edited {
  readonly text: string;
  /**
   * Data for `removeHooks`: the names of containers that did not exist before. If the file contained only whitespace,
   * also `*=` and this whitespace.
   */
  readonly made: readonly string[];
}

const blankMark = '*=';

const objectIn = (text: string, node: Node, words: string): Node => {
  if (node.type !== 'object') throw new BadSettings(text, startOf(node), `${words} must be an object`);
  return node;
};

const hooksIn = (text: string, root: Node): Node | null => {
  const hooks = memberOf(root, 'hooks');
  return hooks === undefined ? null : objectIn(text, hooks, '"hooks"');
};

function eventIn(text: string, hooks: Node | null, event: string): Node | null {
  const list = hooks === null ? undefined : memberOf(hooks, event);
  if (list === undefined) return null;
  if (list.type !== 'array') throw new BadSettings(text, startOf(list), `"hooks"."${event}" must be a list`);
  return list;
}

const isBlank = (text: string): boolean => text.trim() === '';

/**
 * Adds our hooks. `text` is blank if the file is empty or does not exist. `head`: other fields that the file must
 * contain.
 */
function addHooks(text: string, wanted: Wanted, head: Readonly<Record<string, unknown>>): Edited {
  let edited = isBlank(text) ? `${text.startsWith(byteOrderMark) ? byteOrderMark : ''}{}\n` : text;
  const before = valueOf(parseJsonc(edited));
  const made: string[] = isBlank(text) ? [blankMark + text] : [];
  const root = (): Node => objectIn(edited, parseJsonc(edited), 'the file');
  for (const [key, value] of Object.entries(head))
    if (memberOf(root(), key) === undefined) {
      edited = insertInto(edited, root(), value, key);
      made.push(key);
    }
  if (hooksIn(edited, root()) === null) {
    edited = insertInto(edited, root(), {}, 'hooks');
    made.unshift('hooks');
  }
  for (const [event, entry] of wanted) {
    const hooks = hooksIn(edited, root());
    if (hooks === null) break;
    const list = eventIn(edited, hooks, event);
    if (list === null) {
      edited = insertInto(edited, hooks, [entry], event);
      made.unshift(`hooks.${event}`);
    } else edited = insertInto(edited, list, entry);
  }
  if (!isDeepStrictEqual(valueOf(root()), withHooks(before, wanted, head))) throw unprovenEdit(text, 0, '"hooks"');
  return { text: edited, made };
}

/**
 * Returns the content that is expected after our hooks are added. It is computed from the values, not from the text.
 */
function withHooks(before: unknown, wanted: Wanted, head: Readonly<Record<string, unknown>>): unknown {
  const root: Row = isRow(before) ? before : {};
  const hooks: Record<string, unknown> = { ...(isRow(root['hooks']) ? root['hooks'] : {}) };
  for (const [event, entry] of wanted) {
    const list = hooks[event];
    hooks[event] = [...(Array.isArray(list) ? list : []), JSON.parse(JSON.stringify(entry))];
  }
  return { ...head, ...root, hooks };
}

type IsOurHandler = (handler: unknown) => boolean;

/**
 * Removes every handler for which `isOurs` is true. Then removes the containers that `made` names, if they are now
 * empty.
 */
function removeHooks(text: string, isOurs: IsOurHandler, made: readonly string[]): string {
  if (isBlank(text)) return text;
  const blank = made.find((one) => one.startsWith(blankMark))?.slice(blankMark.length);
  const names = made.filter((one) => !one.startsWith(blankMark)).toSorted((one, other) => depthOf(other) - depthOf(one));
  let edited = text;
  for (;;) {
    const next = removeOne(edited, isOurs, new Set(names));
    if (next === null) break;
    edited = next;
  }
  // If we created `hooks` and it still exists, other hooks were added later. They need the fields that we added, so
  // these fields stay.
  const isNew = names.includes('hooks');
  for (const name of names) edited = removeIfEmpty(edited, name, isNew);
  const wanted = withoutEmpty(withoutOurs(valueOf(parseJsonc(text)), isOurs), names);
  if (!isDeepStrictEqual(valueOf(parseJsonc(edited)), wanted)) throw unprovenEdit(text, 0, '"hooks"');
  return edited.trim() === '{}' ? (blank ?? edited) : edited;
}

/** The order of removal, highest first: lists of events (2), `hooks` (1), then the other fields that we added (0). */
const depthOf = (name: string): number => (eventOf(name) === null ? (name === 'hooks' ? 1 : 0) : 2);

/**
 * Removes our first handler, and the containers of `names` that have no other content. Null: there is no handler of
 * ours.
 */
function removeOne(text: string, isOurs: IsOurHandler, names: ReadonlySet<string>): string | null {
  const root = objectIn(text, parseJsonc(text), 'the file');
  const hooks = hooksIn(text, root);
  if (hooks === null) return null;
  for (const [event, member] of elementsOf(hooks).entries()) {
    const list = memberValue(member);
    if (list?.type !== 'array') continue;
    const place = placeIn(list, isOurs);
    if (place === null) continue;
    const isLast = place.container === list && elementsOf(list).length === 1 && names.has(`hooks.${keyOf(member)}`);
    if (!isLast) return removeFrom(text, place.container, place.at);
    if (elementsOf(hooks).length > 1 || !names.has('hooks')) return removeFrom(text, hooks, event);
    return removeFrom(
      text,
      root,
      elementsOf(root).findIndex((one) => keyOf(one) === 'hooks'),
    );
  }
  return null;
}

/**
 * Finds our first handler in the list. If its group has no other handler, returns the place of the group. Null: there
 * is none.
 */
function placeIn(list: Node, isOurs: IsOurHandler): { readonly container: Node; readonly at: number } | null {
  for (const [at, item] of elementsOf(list).entries()) {
    if (isOurs(valueOf(item))) return { container: list, at };
    const handlers = memberOf(item, 'hooks');
    if (handlers?.type !== 'array') continue;
    const inner = elementsOf(handlers).findIndex((handler) => isOurs(valueOf(handler)));
    if (inner >= 0) return elementsOf(handlers).length === 1 ? { container: list, at } : { container: handlers, at: inner };
  }
  return null;
}

function removeIfEmpty(text: string, name: string, isNew: boolean): string {
  const root = objectIn(text, parseJsonc(text), 'the file');
  const event = eventOf(name);
  const container = event === null ? root : hooksIn(text, root);
  if (container === null || !isEmpty(valueOf(root), name, isNew)) return text;
  const at = elementsOf(container).findIndex((member) => keyOf(member) === (event ?? name));
  return removeFrom(text, container, at);
}

/** Returns the event of `hooks.<event>`. */
const eventOf = (name: string): string | null => /^hooks\.(.*)$/s.exec(name)?.[1] ?? null;

/**
 * Whether a container or a field that we added can be removed. A container must have no content. A field can be removed
 * if `hooks` no longer exists, or if `hooks` existed before our hooks (`isNew` is false).
 */
function isEmpty(root: unknown, name: string, isNew: boolean): boolean {
  if (!isRow(root)) return false;
  const event = eventOf(name);
  const hooks = root['hooks'];
  const value = event === null ? root[name] : isRow(hooks) ? hooks[event] : undefined;
  if (value === undefined) return false;
  if (Array.isArray(value)) return value.length === 0;
  return isRow(value) ? Object.keys(value).length === 0 : hooks === undefined || !isNew;
}

/**
 * Returns the content that is expected after our hooks are removed. It is computed from the values, not from the text.
 */
function withoutOurs(root: unknown, isOurs: IsOurHandler): unknown {
  if (!isRow(root) || !isRow(root['hooks'])) return root;
  const hooks = Object.entries(root['hooks']).map(([event, list]) => [event, Array.isArray(list) ? othersOf(list, isOurs) : list]);
  return { ...root, hooks: Object.fromEntries(hooks) };
}

function othersOf(list: readonly unknown[], isOurs: IsOurHandler): readonly unknown[] {
  return list.flatMap((item) => {
    if (isOurs(item)) return [];
    const handlers = isRow(item) ? item['hooks'] : undefined;
    if (!isRow(item) || !Array.isArray(handlers) || !handlers.some(isOurs)) return [item];
    const others = handlers.filter((handler) => !isOurs(handler));
    return others.length === 0 ? [] : [{ ...item, hooks: others }];
  });
}

function withoutEmpty(root: unknown, names: readonly string[]): unknown {
  let left = root;
  for (const name of names) {
    if (!isRow(left) || !isEmpty(left, name, names.includes('hooks'))) continue;
    const event = eventOf(name);
    const hooks = left['hooks'];
    left = event === null || !isRow(hooks) ? without(left, name) : { ...left, hooks: without(hooks, event) };
  }
  return left;
}

const without = (row: Row, key: string): Row => Object.fromEntries(Object.entries(row).filter(([name]) => name !== key));

/** Whether the file has no content. */
const saysNothing = (text: string): boolean => {
  const root = isBlank(text) ? null : parseJsonc(text);
  return root === null || (root.type === 'object' && elementsOf(root).length === 0);
};

/**
 * Returns every handler under an event, with its event and its group; without a group, the handler itself is the group.
 */
function handlersIn(text: string): readonly (readonly [event: string, handler: unknown, group: unknown])[] {
  if (isBlank(text)) return [];
  const hooks = hooksIn(text, objectIn(text, parseJsonc(text), 'the file'));
  return (hooks === null ? [] : elementsOf(hooks)).flatMap((member) => {
    const list = memberValue(member);
    if (list?.type !== 'array') return [];
    return elementsOf(list).flatMap((item) => handlersOf(item).map((handler) => [keyOf(member), valueOf(handler), valueOf(item)] as const));
  });
}

function handlersOf(item: Node): readonly Node[] {
  const handlers = memberOf(item, 'hooks');
  return handlers?.type === 'array' ? elementsOf(handlers) : [item];
}

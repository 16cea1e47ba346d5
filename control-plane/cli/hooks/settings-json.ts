// The hooks that a host reads from settings in JSON: ours put in among others, found again, and taken out.
import { insertInto, removeFrom } from './edit-jsonc.ts';
import { BadSettings, type ListNode, memberOf, type Node, type ObjectNode, parseJsonc, valueOf } from './jsonc.ts';

/** What is to stand under each event. */
export type Wanted = readonly (readonly [event: string, entry: unknown])[];

interface Edited {
  readonly text: string;
  /** Containers that were not there before, innermost first: names to be removed when they are empty again. */
  readonly made: readonly string[];
}

const objectIn = (text: string, node: Node, words: string): ObjectNode => {
  if (node.kind !== 'object') throw new BadSettings(text, node.start, `${words} must be an object`);
  return node;
};

const hooksIn = (text: string, root: ObjectNode): ObjectNode | null => {
  const hooks = memberOf(root, 'hooks');
  return hooks === undefined ? null : objectIn(text, hooks.value, '"hooks"');
};

function eventIn(text: string, hooks: ObjectNode | null, event: string): ListNode | null {
  const list = hooks === null ? undefined : memberOf(hooks, event)?.value;
  if (list === undefined) return null;
  if (list.kind !== 'list') throw new BadSettings(text, list.start, `"hooks"."${event}" must be a list`);
  return list;
}

/** `text` empty: there is no file yet. `head`: what else the file must say. */
export function addHooks(text: string, wanted: Wanted, head: Readonly<Record<string, unknown>>): Edited {
  let edited = text.trim() === '' ? '{}\n' : text;
  const made: string[] = [];
  const root = (): ObjectNode => objectIn(edited, parseJsonc(edited), 'the file');
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
  return { text: edited, made };
}

/** Takes out every handler that `isOurs`, and the containers of `made` that are empty then. */
export function removeHooks(text: string, isOurs: (handler: unknown) => boolean, made: readonly string[]): string {
  if (text.trim() === '') return text;
  let edited = text;
  for (;;) {
    const next = removeOne(edited, isOurs);
    if (next === null) break;
    edited = next;
  }
  for (const name of made) edited = removeIfEmpty(edited, name);
  return edited;
}

/** The first of ours that is there; null: there is none. */
function removeOne(text: string, isOurs: (handler: unknown) => boolean): string | null {
  const hooks = hooksIn(text, objectIn(text, parseJsonc(text), 'the file'));
  for (const { value: list } of hooks?.members ?? []) {
    if (list.kind !== 'list') continue;
    for (const [at, item] of list.items.entries()) {
      if (isOurs(valueOf(item))) return removeFrom(text, list, at);
      const handlers = item.kind === 'object' ? memberOf(item, 'hooks')?.value : undefined;
      if (handlers?.kind !== 'list') continue;
      const inner = handlers.items.findIndex((handler) => isOurs(valueOf(handler)));
      // A group that is left with nothing to do goes too.
      if (inner >= 0) return handlers.items.length === 1 ? removeFrom(text, list, at) : removeFrom(text, handlers, inner);
    }
  }
  return null;
}

function removeIfEmpty(text: string, name: string): string {
  const root = objectIn(text, parseJsonc(text), 'the file');
  const event = /^hooks\.(.*)$/s.exec(name)?.[1];
  const container = event === undefined ? root : hooksIn(text, root);
  const key = event ?? name;
  const at = container?.members.findIndex((member) => member.key === key) ?? -1;
  const value = container?.members[at]?.value;
  if (container === null || value === undefined) return text;
  const isEmpty = value.kind === 'list' ? value.items.length === 0 : value.kind === 'plain' || value.members.length === 0;
  return isEmpty ? removeFrom(text, container, at) : text;
}

/** Whether it says nothing at all. */
export const saysNothing = (text: string): boolean => {
  const root = text.trim() === '' ? null : parseJsonc(text);
  return root === null || (root.kind === 'object' && root.members.length === 0);
};

/** Every handler under an event, with the event and the group that it stands in: itself, where there are none. */
export function handlersIn(text: string): readonly (readonly [event: string, handler: unknown, group: unknown])[] {
  if (text.trim() === '') return [];
  const hooks = hooksIn(text, objectIn(text, parseJsonc(text), 'the file'));
  return (hooks?.members ?? []).flatMap(({ key, value: list }) =>
    list.kind !== 'list'
      ? []
      : list.items.flatMap((item) => handlersOf(item).map((handler) => [key, valueOf(handler), valueOf(item)] as const)),
  );
}

function handlersOf(item: Node): readonly Node[] {
  const handlers = item.kind === 'object' ? memberOf(item, 'hooks')?.value : undefined;
  return handlers?.kind === 'list' ? handlers.items : [item];
}

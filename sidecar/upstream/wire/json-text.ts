// Changes single members of a JSON text and leaves all other values exactly as they are written. So text from a server
// is forwarded as written, including digits that no number type can hold. The text must be JSON without duplicate keys.
import { scalarEnd, skipBlanks, stringEnd } from '@tollgate/proto/contract';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the positions of the values in the object that begins at `at`, by key. */
export function membersAt(text: string, at: number): ReadonlyMap<string, Span> {
  const members = new Map<string, Span>();
  let next = skipBlanks(text, skipBlanks(text, at) + 1);
  while (text[next] !== '}') {
    const keyEnd = stringEnd(text, next);
    const key = String(JSON.parse(text.slice(next, keyEnd)));
    const start = skipBlanks(text, skipBlanks(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    members.set(key, { start, end });
    next = skipBlanks(text, end);
    if (text[next] === ',') next = skipBlanks(text, next + 1);
  }
  return members;
}

/** Returns the positions of the items in the list that begins at `at`. */
export function itemsAt(text: string, at: number): readonly Span[] {
  const items: Span[] = [];
  let next = skipBlanks(text, skipBlanks(text, at) + 1);
  while (text[next] !== ']') {
    const end = valueEnd(text, next);
    items.push({ start: next, end });
    next = skipBlanks(text, end);
    if (text[next] === ',') next = skipBlanks(text, next + 1);
  }
  return items;
}

/** Returns the position of a member's value, found by a path of keys. Null: it does not exist. */
export function memberAt(text: string, path: readonly string[]): Span | null {
  let span: Span = { start: skipBlanks(text, 0), end: text.length };
  for (const key of path) {
    if (text[span.start] !== '{') return null;
    const member = membersAt(text, span.start).get(key);
    if (member === undefined) return null;
    span = member;
  }
  return span;
}

/**
 * Returns the text with `json` as the value at that path. A missing member is added, but the object that contains it
 * must exist.
 */
export function withMember(text: string, path: readonly string[], json: string): string {
  const held = memberAt(text, path);
  if (held !== null) return text.slice(0, held.start) + json + text.slice(held.end);
  const holder = memberAt(text, path.slice(0, -1));
  if (holder === null || text[holder.start] !== '{') return text;
  const first = skipBlanks(text, holder.start + 1);
  const comma = text[first] === '}' ? '' : ',';
  return `${text.slice(0, holder.start + 1)}${JSON.stringify(path.at(-1))}:${json}${comma}${text.slice(holder.start + 1)}`;
}

/**
 * Returns `text` with the values that `original` has at these paths. If `original` has no value at a path, the value of
 * `text` at this path does not change.
 */
export function withMembersOf(original: string, text: string, paths: readonly (readonly string[])[]): string {
  return paths.reduce((result, path) => {
    const kept = memberAt(original, path);
    return kept === null ? result : withMember(result, path, original.slice(kept.start, kept.end));
  }, text);
}

/** Returns the text without the member at that path. */
export function withoutMember(text: string, path: readonly string[]): string {
  const holder = memberAt(text, path.slice(0, -1));
  const key = path.at(-1);
  if (holder === null || key === undefined || text[holder.start] !== '{') return text;
  const others = [...membersAt(text, holder.start)].filter(([name]) => name !== key);
  const written = others.map(([name, { start, end }]) => `${JSON.stringify(name)}:${text.slice(start, end)}`);
  return `${text.slice(0, holder.start)}{${written.join(',')}}${text.slice(holder.end)}`;
}

/** Returns the position after the value that begins at `start`. */
function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first !== '{' && first !== '[') return scalarEnd(text, start);
  let depth = 0;
  for (let at = start; ; ) {
    const character = text[at];
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

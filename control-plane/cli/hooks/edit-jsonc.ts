// Puts an element into settings and takes one out again, as text: taking out what was put in gives the text of before.
import type { ListNode, Node, ObjectNode } from './jsonc.ts';

/** Behind the last element; `key` for an object. */
export function insertInto(text: string, container: ObjectNode | ListNode, value: unknown, key?: string): string {
  const elements: readonly Pick<Node, 'start' | 'end'>[] = container.kind === 'object' ? container.members : container.items;
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const outer = indentAt(text, container.start);
  const last = elements.at(-1);
  const first = elements[0];
  const inner = first !== undefined && isFirstInLine(text, first.start) ? indentAt(text, first.start) : outer + unitOf(text);
  const written = JSON.stringify(value, null, unitOf(text)).replaceAll('\n', newline + inner);
  const element = key === undefined ? written : `${JSON.stringify(key)}: ${written}`;
  if (last !== undefined) return insertBehind(text, last.end, `${newline}${inner}${element}`);
  // Before the bracket, behind whatever stands there.
  const at = container.end - 1;
  const interior = text.slice(container.start + 1, at).replace(/[ \t\r\n]+$/, '');
  return splice(text, container.start + 1 + interior.length, at, `${newline}${inner}${element}${newline}${outer}`);
}

/** What is said behind the last element in its line stays behind it, and a comma behind the last element stays one. */
function insertBehind(text: string, end: number, element: string): string {
  const comma = commaBehind(text, end);
  const from = comma < 0 ? end : comma + 1;
  const said = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(from))?.[0] ?? '';
  return comma < 0
    ? splice(text, from, from + said.length, `,${said}${element}`)
    : splice(text, from, from + said.length, `${said}${element},`);
}

/** With the comma that joined it. */
export function removeFrom(text: string, container: ObjectNode | ListNode, index: number): string {
  const elements: readonly Pick<Node, 'start' | 'end'>[] = container.kind === 'object' ? container.members : container.items;
  const [before, found, after] = [elements[index - 1], elements[index], elements[index + 1]];
  if (found === undefined) return text;
  if (before !== undefined) return removeBehind(text, before.end, found);
  if (after !== undefined) return splice(text, found.start, after.start, '');
  const comma = commaBehind(text, found.end);
  const rest = text.slice(comma < 0 ? found.end : comma + 1, container.end - 1);
  const said = `${text.slice(container.start + 1, found.start).trimEnd()}${rest.trim() === '' ? '' : rest.trimEnd()}`;
  const closing = said === '' ? '' : `${said}\n${indentAt(text, container.start)}`;
  return splice(text, container.start + 1, container.end - 1, closing);
}

function removeBehind(text: string, from: number, found: Pick<Node, 'start' | 'end'>): string {
  const own = commaBehind(text, found.end);
  const between = text.slice(from, found.start).trimEnd();
  if (own >= 0) return splice(text, from, own + 1, between + text.slice(found.end, own));
  const joining = commaBehind(text, from) - from;
  return splice(text, from, found.end, between.slice(0, joining) + between.slice(joining + 1));
}

const blank = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

/** The place of the comma that comes next, whatever is said before it; -1: there is none. */
function commaBehind(text: string, at: number): number {
  blank.lastIndex = at;
  const next = at + (blank.exec(text)?.[0].length ?? 0);
  return text[next] === ',' ? next : -1;
}

const splice = (text: string, from: number, to: number, instead: string): string => text.slice(0, from) + instead + text.slice(to);

const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;
const indentAt = (text: string, at: number): string => /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';
const isFirstInLine = (text: string, at: number): boolean => text.slice(lineStart(text, at), at).trim() === '';

/** One step of indentation, as the text has it. */
const unitOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';

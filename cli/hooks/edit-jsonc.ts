// Reads settings in JSON, or JSON with comments and trailing commas, with jsonc-parser, and edits their text. If the
// input is ambiguous, it is rejected with an error that names the place.
//
// `modify` of jsonc-parser is not used for the edits. It formats the lines around an edit again, puts a comment of the
// user after our element, and removes comments and a trailing comma together with an element. The edits here change
// only one span. After the removal of an element, the text is as if the element had never been there, even if the text
// around it was changed in between. The callers parse each edited text again with jsonc-parser, and reject it if it
// does not have the wanted content.
import { createScanner, findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { BadSettings } from './settings-file.ts';

export type { Node } from 'jsonc-parser';

export const startOf = ({ offset }: Node): number => offset;
/** The offset after the last character. */
const endOf = ({ offset, length }: Node): number => offset + length;

export const byteOrderMark = '\uFEFF';

/** `text` may begin with the byte order mark that some editors write. The positions of nodes refer to `text`. */
export function parseJsonc(text: string): Node {
  // The mark is replaced by a space, so that all offsets stay the same.
  const read = text.startsWith(byteOrderMark) ? ` ${text.slice(1)}` : text;
  const errors: ParseError[] = [];
  const root = parse(read, errors);
  const [first] = errors;
  if (first !== undefined) throw new BadSettings(text, first.offset, wordsOf(first));
  if (root === undefined) throw new BadSettings(text, text.length, 'the file contains no JSON value');
  refuseTwice(text, root);
  return root;
}

function parse(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    if (error instanceof RangeError) throw new BadSettings(text, 0, 'the JSON is nested too deeply');
    throw error;
  }
}

const wordsOf = ({ error }: ParseError): string =>
  `it is not JSON: ${printParseErrorCode(error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()}`;

/** Throws if a name occurs twice in an object, because a host may read either value. */
function refuseTwice(text: string, node: Node): void {
  const names = new Set<string>();
  for (const child of node.children ?? []) {
    const name = node.type === 'object' ? keyOf(child) : null;
    if (name !== null && names.has(name))
      throw new BadSettings(
        text,
        child.offset,
        `the name ${JSON.stringify(name)} occurs twice in the same object; keep only one of the two`,
      );
    if (name !== null) names.add(name);
    refuseTwice(text, child);
  }
}

/** Returns the value of a node as JSON.parse would return it, also for a key such as `__proto__`. */
export function valueOf(node: Node): unknown {
  if (node.type === 'array') return elementsOf(node).map(valueOf);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(elementsOf(node).map((member) => [keyOf(member), valueOf(memberValue(member) ?? member)]));
}

/** Returns the key of a member of an object. */
export const keyOf = (member: Node): string => String(member.children?.[0]?.value);
export const memberValue = (member: Node): Node | undefined => member.children?.[1];

/** Returns the members of an object, or the items of a list. */
export const elementsOf = (container: Node): readonly Node[] => container.children ?? [];

/** Returns the value of a member. */
export const memberOf = (node: Node, key: string): Node | undefined => findNodeAtLocation(node, [key]);

/** Inserts a value after the last element of a list or an object. `key` is only for an object. */
export function insertInto(text: string, container: Node, value: unknown, key?: string): string {
  const newline = newlineOf(text);
  const outer = indentAt(text, startOf(container));
  const elements = elementsOf(container);
  const [first, last] = [elements[0], elements.at(-1)];
  const inner = first !== undefined && isFirstInLine(text, startOf(first)) ? indentAt(text, startOf(first)) : outer + unitOf(text);
  const written = JSON.stringify(value, null, unitOf(text)).replaceAll('\n', newline + inner);
  const element = key === undefined ? written : `${JSON.stringify(key)}: ${written}`;
  if (last !== undefined) return insertBehind(text, endOf(last), `${newline}${inner}${element}`);
  return insertFirst(text, container, `${newline}${inner}${element}`, `${newline}${outer}`);
}

/**
 * Inserts the first element of a container, after its comments if there are any. The whitespace that was between the
 * brackets stays in the text, after our new lines. So the old text is restored when the element is removed. If another
 * program rewrites the file, this whitespace is lost.
 */
function insertFirst(text: string, container: Node, element: string, closing: string): string {
  const from = startOf(container) + 1;
  const at = from + text.slice(from, endOf(container) - 1).trimEnd().length;
  return splice(text, at, at, element + closing);
}

/**
 * Inserts an element after the last one. Comments in the line of the last element stay with it. If the last element has
 * a trailing comma, the new element gets one too.
 */
function insertBehind(text: string, end: number, element: string): string {
  const comma = commaBehind(text, end);
  const from = comma ?? end - 1;
  const said = saidInLine(text, from + 1);
  return comma === null
    ? splice(text, end, end + said.length, `,${said}${element}`)
    : splice(text, from + 1, from + 1 + said.length, `${said}${element},`);
}

/** Removes an element and the comma that joins it to the next element. */
export function removeFrom(text: string, container: Node, index: number): string {
  const elements = elementsOf(container);
  const [before, found, after] = [elements[index - 1], elements[index], elements[index + 1]];
  if (found === undefined) return text;
  if (before !== undefined) return removeBehind(text, endOf(before), found);
  if (after !== undefined) return splice(text, startOf(found), startOf(after), commentsIn(text, endOf(found), startOf(after)));
  return removeOnly(text, container, found);
}

function removeOnly(text: string, container: Node, found: Node): string {
  const [from, to] = [startOf(container) + 1, endOf(container) - 1];
  const said = text.slice(from, startOf(found)).trimEnd();
  const behind = text.slice((commaBehind(text, endOf(found)) ?? endOf(found) - 1) + 1, to);
  const closing = (/^\r?\n/.exec(behind)?.[0] ?? newlineOf(text)) + indentAround(text, container, found);
  const rest = behind.startsWith(closing) ? behind.slice(closing.length) : behind.trim() === '' ? '' : behind;
  return splice(text, from, to, said + (rest === '' && said !== '' ? closing : rest));
}

/**
 * Returns the indentation that the closing bracket had when the element was written. It is computed from the
 * indentation of the element's lines.
 */
function indentAround(text: string, container: Node, found: Node): string {
  const inner = indentAt(text, startOf(found));
  const deeper = /\n([ \t]+)\S/.exec(text.slice(startOf(found), endOf(found)))?.[1];
  if (deeper === undefined || !isFirstInLine(text, startOf(found))) return indentAt(text, startOf(container));
  return inner.slice(0, Math.max(0, 2 * inner.length - deeper.length));
}

function removeBehind(text: string, from: number, found: Node): string {
  const own = commaBehind(text, endOf(found));
  const blanked = text.slice(from, startOf(found));
  const between = blanked.trimEnd();
  if (own !== null) {
    // Text after our element in its line must not become part of a `//` comment.
    const isLastInLine = /^[ \t]*(?:\r?\n|$)/.test(text.slice(own + 1));
    const kept = isLastInLine || !between.includes('//') ? between : blanked;
    return splice(text, from, own + 1, kept + text.slice(endOf(found), own));
  }
  const joining = (commaBehind(text, from) ?? from) - from;
  return splice(text, from, endOf(found), between.slice(0, joining) + between.slice(joining + 1));
}

/**
 * Returns the user's comments between a removed element and the next one, followed by the whitespace before the next
 * one. Empty: there are no comments.
 */
function commentsIn(text: string, from: number, to: number): string {
  const comma = commaBehind(text, from) ?? from;
  const said = `${text.slice(from, comma)}${text.slice(comma + 1, to)}`.trim();
  return said === '' ? '' : `${said}${text.slice(text.slice(0, to).trimEnd().length, to)}`;
}

/** Returns the offset of the comma that follows, after comments and whitespace. Null: something else follows. */
function commaBehind(text: string, at: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(at);
  scanner.scan();
  return text[scanner.getTokenOffset()] === ',' ? scanner.getTokenOffset() : null;
}

/** Returns the comments that follow an element in its line. A comment that ends in a later line is not included. */
function saidInLine(text: string, at: number): string {
  const scanner = createScanner(text);
  scanner.setPosition(at);
  let end = at;
  for (;;) {
    scanner.scan();
    const token = text.slice(scanner.getTokenOffset(), scanner.getTokenOffset() + scanner.getTokenLength());
    if (!/^(?:[ \t]+|\/\/.*|\/\*.*\*\/)$/.test(token)) return text.slice(at, end);
    if (token.trim() !== '') end = scanner.getTokenOffset() + token.length;
  }
}

const splice = (text: string, from: number, to: number, instead: string): string => text.slice(0, from) + instead + text.slice(to);

const newlineOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n');
const lineStart = (text: string, at: number): number => text.lastIndexOf('\n', at - 1) + 1;
const indentAt = (text: string, at: number): string => /^[ \t]*/.exec(text.slice(lineStart(text, at), at))?.[0] ?? '';
const isFirstInLine = (text: string, at: number): boolean => text.slice(lineStart(text, at), at).trim() === '';

/** One step of indentation in this text. */
const unitOf = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';

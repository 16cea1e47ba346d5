// Reads settings in JSON, or JSON with comments and trailing commas, with jsonc-parser. The result is a tree with text
// positions, because edits are made in the text. Ambiguous input is rejected with its place.
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { BadSettings } from './bad-settings.ts';

export type { Node } from 'jsonc-parser';

export const startOf = ({ offset }: Node): number => offset;
/** The offset after the last character. */
export const endOf = ({ offset, length }: Node): number => offset + length;

export const byteOrderMark = '\uFEFF';

/** `text` may begin with the byte order mark that some editors write. The positions of nodes refer to `text`. */
export function parseJsonc(text: string): Node {
  // A space of the same length replaces the mark.
  const read = text.startsWith(byteOrderMark) ? ` ${text.slice(1)}` : text;
  const errors: ParseError[] = [];
  const root = parse(read, errors);
  const [first] = errors;
  if (first !== undefined) throw new BadSettings(text, first.offset, wordsOf(first));
  if (root === undefined) throw new BadSettings(text, text.length, 'a value is missing');
  refuseTwice(text, root);
  return root;
}

function parse(text: string, errors: ParseError[]): Node | undefined {
  try {
    return parseTree(text, errors, { allowTrailingComma: true });
  } catch (error) {
    if (error instanceof RangeError) throw new BadSettings(text, 0, 'it is nested too deeply');
    throw error;
  }
}

const wordsOf = ({ error }: ParseError): string =>
  `it is no JSON: ${printParseErrorCode(error)
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()}`;

/** If a name occurs twice, a host may read either value. */
function refuseTwice(text: string, node: Node): void {
  const names = new Set<string>();
  for (const child of node.children ?? []) {
    const name = node.type === 'object' ? keyOf(child) : null;
    if (name !== null && names.has(name)) throw new BadSettings(text, child.offset, `${JSON.stringify(name)} is there twice`);
    if (name !== null) names.add(name);
    refuseTwice(text, child);
  }
}

/** Returns objects as JSON.parse creates them, whatever their names. */
export function valueOf(node: Node): unknown {
  if (node.type === 'array') return elementsOf(node).map(valueOf);
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(elementsOf(node).map((member) => [keyOf(member), valueOf(memberValue(member) ?? member)]));
}

/** The key of a member of an object. */
export const keyOf = (member: Node): string => String(member.children?.[0]?.value);
export const memberValue = (member: Node): Node | undefined => member.children?.[1];

/** The members of an object, or the items of a list. */
export const elementsOf = (container: Node): readonly Node[] => container.children ?? [];

/** Returns the value of a member. */
export function memberOf(node: Node, key: string): Node | undefined {
  const member = node.type === 'object' ? elementsOf(node).find((one) => keyOf(one) === key) : undefined;
  return member === undefined ? undefined : memberValue(member);
}

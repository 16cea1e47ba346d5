// Settings in JSON, or JSON with comments and trailing commas, as a tree that knows where everything stands: what is edited
// is the text, so that comments, order and form of the rest stay as they are.

export type Node = ObjectNode | ListNode | PlainNode;

interface Span {
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

export interface ObjectNode extends Span {
  readonly kind: 'object';
  readonly members: readonly Member[];
}

export interface Member extends Span {
  readonly key: string;
  readonly value: Node;
}

export interface ListNode extends Span {
  readonly kind: 'list';
  readonly items: readonly Node[];
}

interface PlainNode extends Span {
  readonly kind: 'plain';
  readonly value: unknown;
}

/** What is wrong with a text, with its place. */
export class BadSettings extends Error {
  override readonly name = 'BadSettings';

  constructor(text: string, at: number, words: string) {
    const before = text.slice(0, at).split('\n');
    super(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${words}`);
  }
}

const depthMax = 64;

export function parseJsonc(text: string): Node {
  const reader: Reader = { text, at: text.startsWith('\uFEFF') ? 1 : 0, depth: 0 };
  const node = readNode(reader);
  skipBlank(reader);
  if (reader.at < text.length) throw new BadSettings(text, reader.at, 'there is something behind the end of the value');
  return node;
}

export const valueOf = (node: Node): unknown => {
  if (node.kind === 'plain') return node.value;
  if (node.kind === 'list') return node.items.map(valueOf);
  return Object.fromEntries(node.members.map(({ key, value }) => [key, valueOf(value)]));
};

export const memberOf = (node: ObjectNode, key: string): Member | undefined => node.members.find((member) => member.key === key);

interface Reader {
  readonly text: string;
  at: number;
  depth: number;
}

const blank = /(?:[ \t\r\n]+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const string = /"(?:[^"\\\u0000-\u001f]|\\.)*"/y;
const plain = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

function skipBlank(reader: Reader): void {
  blank.lastIndex = reader.at;
  reader.at += blank.exec(reader.text)?.[0].length ?? 0;
}

function readNode(reader: Reader): Node {
  skipBlank(reader);
  const { text, at: start } = reader;
  if (text[start] === '{' || text[start] === '[') {
    if (++reader.depth > depthMax) throw new BadSettings(text, start, `it is nested deeper than ${depthMax}`);
    const node = text[start] === '{' ? readObject(reader, start) : readList(reader, start);
    reader.depth -= 1;
    return node;
  }
  return readPlain(reader, start);
}

function readPlain(reader: Reader, start: number): PlainNode {
  const found = match(reader, string) ?? match(reader, plain);
  if (found === null) throw new BadSettings(reader.text, start, 'a value is missing, or is no JSON');
  try {
    return { kind: 'plain', start, end: reader.at, value: JSON.parse(found) };
  } catch {
    throw new BadSettings(reader.text, start, 'this text has an escape that JSON does not know');
  }
}

function match(reader: Reader, pattern: RegExp): string | null {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text)?.[0];
  if (found === undefined) return null;
  reader.at += found.length;
  return found;
}

function readObject(reader: Reader, start: number): ObjectNode {
  const members: Member[] = [];
  for (const at of elements(reader, '}')) {
    const key = match(reader, string);
    if (key === null) throw new BadSettings(reader.text, at, 'a name in quotes is missing');
    const name = String(JSON.parse(key));
    if (members.some((member) => member.key === name)) throw new BadSettings(reader.text, at, `${key} is there twice`);
    skipBlank(reader);
    if (reader.text[reader.at] !== ':') throw new BadSettings(reader.text, reader.at, 'a colon is missing');
    reader.at += 1;
    const value = readNode(reader);
    members.push({ key: name, value, start: at, end: value.end });
  }
  return { kind: 'object', start, end: reader.at, members };
}

function readList(reader: Reader, start: number): ListNode {
  const items: Node[] = [];
  for (const _ of elements(reader, ']')) items.push(readNode(reader));
  return { kind: 'list', start, end: reader.at, items };
}

/** The place of each element, until the closing bracket. */
function* elements(reader: Reader, close: string): Generator<number> {
  reader.at += 1;
  for (;;) {
    skipBlank(reader);
    if (reader.text[reader.at] === close) break;
    yield reader.at;
    skipBlank(reader);
    if (reader.text[reader.at] === ',') reader.at += 1;
    else if (reader.text[reader.at] !== close) throw new BadSettings(reader.text, reader.at, `a comma or ${close} is missing`);
  }
  reader.at += 1;
}

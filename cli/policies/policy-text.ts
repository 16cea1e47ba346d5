// Parses a YAML or JSON file to its value, or to every problem as `file:line:column: words`. JSON is parsed as YAML, so
// that its problems have line and column too. The number of aliases is limited. Values that JSON cannot represent, or
// would read differently, are rejected. The places of the value can be found afterwards, for problems that are found
// later.
import type { Document, LineCounter, Scalar } from 'yaml';
import { isRow, type Row } from '../api/answer.ts';

const aliasesMax = 100;
const depthMax = 64;
/** The sections of a set of policies, as the control plane exports it. */
export const sections: readonly string[] = ['workspacePolicy', 'rolePolicies', 'agentTypePolicies', 'userPolicies'];

export interface PlacedText {
  readonly value: Row;
  /**
   * Returns where a path of the value is written, as `file:line:column`. If the value has no such path, returns where
   * the part of the path that it has is written.
   */
  readonly placeOf: (path: string) => string;
}

type Parsed = PlacedText | { readonly problems: readonly string[] };

/** Parses a file of policies. */
export async function parsePolicyText(file: string, text: string): Promise<Parsed> {
  const parsed = await parseText(file, text, sections);
  if ('problems' in parsed) return parsed;
  // The answer of GET …/admin/policies also contains `revision`, which is not a section.
  const { revision: _, ...value } = parsed.value;
  return { ...parsed, value };
}

/** `keys`: the only keys that the outermost mapping may have, besides `revision`. Absent: any. */
export async function parseText(file: string, text: string, keys?: readonly string[]): Promise<Parsed> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const at = (offset: number, message: string): string => `${placeIn(file, lines, offset)}: ${message}`;
  const document = yaml.parseDocument(text, { lineCounter: lines, version: '1.2', schema: 'core', uniqueKeys: true, prettyErrors: false });
  const second = document.errors.find(({ code }) => code === 'MULTIPLE_DOCS');
  if (second !== undefined)
    return { problems: [at(second.pos[0], 'a second document begins here; a file is one document; split it at ---')] };
  const mistakes = [...document.errors, ...document.warnings].map(({ pos, message }) => at(pos[0], message));
  if (mistakes.length > 0) return { problems: mistakes };
  if (document.contents === null) return { problems: [`${file} is empty`] };
  const strange = findStrange(yaml, document, { at, keys });
  if (strange.length > 0) return { problems: strange };
  const wrong = file.endsWith('.json') ? jsonProblem(text) : null;
  if (wrong !== null) return { problems: [`${file}: this is no JSON (${wrong}); name it .yaml if it is meant to be YAML`] };
  const value = toValue(document);
  if (value === null) return { problems: [`${file} holds aliases of themselves, or that repeat more than ${aliasesMax} times over`] };
  if (!isRow(value)) return { problems: [at(0, `must be a mapping${keys === undefined ? '' : ` of ${keys.join(', ')}`}`)] };
  return { value, placeOf: (path) => placeIn(file, lines, offsetOf(yaml, document, keysIn(path))) };
}

const placeIn = (file: string, lines: LineCounter, offset: number): string => {
  const { line, col } = lines.linePos(offset);
  return `${file}:${line}:${col}`;
};

const step = /\.?([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y;

/** Returns the keys and indexes of a path such as `tools["github.*"].api.cases[0]`. Words after the path are ignored. */
export function keysIn(path: string): readonly (string | number)[] {
  const keys: (string | number)[] = [];
  step.lastIndex = 0;
  for (let part = step.exec(path); part !== null; part = step.exec(path)) {
    const [, name, index, quoted] = part;
    keys.push(name ?? (index === undefined ? String(JSON.parse(quoted ?? '""')) : Number(index)));
  }
  return keys;
}

/** Returns where the key, or the item of a list, begins. */
function offsetOf(yaml: typeof import('yaml'), document: Document.Parsed, keys: readonly (string | number)[]): number {
  let node: unknown = document.contents;
  let offset = 0;
  for (const key of keys) {
    if (yaml.isAlias(node)) node = node.resolve(document);
    const pair = yaml.isMap(node) ? node.items.find((one) => yaml.isScalar(one.key) && one.key.value === key) : undefined;
    const item = yaml.isSeq(node) && typeof key === 'number' ? node.items[key] : undefined;
    const place = pair?.key ?? item;
    if (!yaml.isNode(place)) return offset;
    offset = place.range?.[0] ?? offset;
    node = pair === undefined ? item : pair.value;
  }
  return offset;
}

/** Returns the value of the document; null when aliases would make it endless or too large. */
function toValue(document: Document.Parsed): unknown {
  try {
    const value: unknown = document.toJS({ maxAliasCount: aliasesMax });
    JSON.stringify(value);
    return value;
  } catch {
    return null;
  }
}

interface Finding {
  readonly at: (offset: number, message: string) => string;
  readonly keys: readonly string[] | undefined;
}

/** Finds keys and values that YAML allows but JSON does not. */
function findStrange(yaml: typeof import('yaml'), document: Document.Parsed, { at, keys }: Finding): readonly string[] {
  const problems: string[] = [];
  const say = (node: { readonly range?: readonly [number, number, number] | null }, message: string): void =>
    void problems.push(at(node.range?.[0] ?? 0, message));
  yaml.visit(document, {
    Pair: (_key, pair, path) => {
      const key = pair.key;
      if (!yaml.isScalar(key)) return void problems.push(at(0, 'a key must be text'));
      if (typeof key.value !== 'string') return say(key, `the key ${sourceOf(key)} is read as no text; write it in quotes`);
      if (key.value === '__proto__') return say(key, '__proto__ is not allowed as a key');
      const outermost = path.filter((node) => yaml.isMap(node)).length === 1;
      if (outermost && keys !== undefined && key.value !== 'revision' && !keys.includes(key.value))
        return say(key, `${key.value} is no section; there are ${keys.join(', ')}`);
    },
    Scalar: (_key, scalar) => {
      if (typeof scalar.value === 'number' && !Number.isFinite(scalar.value)) say(scalar, `${sourceOf(scalar)} is no number that JSON has`);
    },
    Node: (_key, node, path) => {
      if (path.length <= depthMax * 2) return;
      say(node, `is nested deeper than ${depthMax}`);
      return yaml.visit.BREAK;
    },
  });
  return problems;
}

const sourceOf = (scalar: Scalar): string => scalar.source ?? String(scalar.value);

/** Returns why the text is not JSON, in the parser's words; null when it is JSON. */
function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

// Finds the collections that a source file keeps: maps, sets, caches and lists that begin empty and are in a field of a
// class, in the module, or in a variable that outlives the call which made it, because a function that is returned or
// passed on uses it. A function that is passed only to a call, as to `map` or `filter`, ends with that call. A
// collection in a variable that such a function fills is still found if another function uses it too.
import { isNode, type Node, parseSource, walk } from '../measure/static/syntax.ts';

export interface KeptPlace {
  readonly path: string;
  /** The name of the field or variable. */
  readonly name: string;
  /** The place as docs/design/bounds.md names it. */
  readonly place: string;
}

const growing: ReadonlySet<string> = new Set(['Map', 'Set', 'LRUCache']);
const functions: ReadonlySet<string> = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

const isFunction = (node: Node): boolean => functions.has(node.type);
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const nameOf = (node: unknown): string => (isNode(node) && typeof node['name'] === 'string' ? node['name'] : '');

/**
 * Returns whether the collection is made empty. A collection that is made from a source has the size of that source.
 */
function isGrowing(value: unknown): boolean {
  if (!isNode(value)) return false;
  if (value.type === 'ArrayExpression') return listOf(value['elements']).length === 0;
  const made = value.type === 'NewExpression' ? nameOf(value['callee']) : '';
  return growing.has(made) && (made === 'LRUCache' || listOf(value['arguments']).length === 0);
}

export function findKept(path: string, text: string): readonly KeptPlace[] {
  const { program } = parseSource(path, text);
  const found: string[] = [];
  walk(program, (node, above) => {
    if (node.type === 'PropertyDefinition' && isGrowing(node['value'])) found.push(nameOf(node['key']));
    // A collection that is made when it is first needed.
    const target = node.type === 'AssignmentExpression' && isGrowing(node['right']) ? node['left'] : null;
    if (isNode(target) && target.type === 'MemberExpression' && isNode(target['object']) && target['object'].type === 'ThisExpression')
      found.push(nameOf(target['property']));
    if (node.type !== 'VariableDeclarator' || !isGrowing(node['init'])) return;
    const maker = above.findLast(isFunction);
    if (maker === undefined || outlives(maker, nameOf(node['id']))) found.push(nameOf(node['id']));
  });
  return [...new Set(found)].map((name) => ({ path, name, place: `${path}#${name}` }));
}

/** Returns whether a function inside the maker uses the name and is not only an argument of a call. */
export function outlives(maker: Node, name: string): boolean {
  let isUsed = false;
  walk(maker, (node, above) => {
    if (node.type !== 'Identifier' || nameOf(node) !== name) return;
    const inside = above.slice(above.lastIndexOf(maker) + 1);
    isUsed ||= inside.some((one, at) => isFunction(one) && !isArgument(one, inside[at - 1] ?? maker));
  });
  return isUsed;
}

const isArgument = (node: Node, parent: Node): boolean => parent.type === 'CallExpression' && listOf(parent['arguments']).includes(node);

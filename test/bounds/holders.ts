// Where the types of the sources say that something holds a snapshot: an index, a caller bound under one, or a document of one, or what has one
// of these in a field. A field counts wherever it is declared, a variable where it has a type of its own and outlives its function. What a function takes or
// answers is not held, and neither is what stands behind a weak reference. Types are followed by name through imports; what a type does not
// say (a captured variable whose type is inferred) is found by test/sidecar/doors/held-snapshots.test.ts alone.
import { dirname, join, normalize } from 'node:path';
import { isNode, type Node, parseSource, walk } from '../measure/static/syntax.ts';
import { outlives } from './kept.ts';

export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A field, a type that is put together of others, or a variable; with the types that it names, each as `<path>#<name>`. */
interface Declared {
  readonly place: string;
  /** The type that it is part of; null: a variable. */
  readonly type: string | null;
  readonly names: readonly string[];
}

const roots = [
  'sidecar/engine/decide/build-index.ts#Index',
  'sidecar/engine/decide/caller.ts#Caller',
  'sidecar/engine/decide/caller.ts#BoundHop',
  'sidecar/engine/decide/document.ts#IndexedDocument',
] as const;
/** By what packages call them. */
const ofPackages = new Map(roots.map((root) => [root.slice(root.indexOf('#') + 1), root]));
/** What they make is of a snapshot and gone with it; and the cell, which holds the one that decides. */
const snapshots: readonly string[] = ['sidecar/engine/decide/', 'sidecar/engine/snapshot/'];
const weak: ReadonlySet<string> = new Set(['WeakRef', 'WeakMap', 'WeakSet']);
const calls: ReadonlySet<string> = new Set(['TSFunctionType', 'TSMethodSignature', 'TSConstructorType', 'TSTypeQuery']);
const functions: ReadonlySet<string> = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

const nameOf = (node: unknown): string => (isNode(node) && typeof node['name'] === 'string' ? node['name'] : '');

/** The places, sorted. */
export function findHolders(sources: readonly Source[]): readonly string[] {
  const all = sources.filter(({ path }) => !snapshots.some((folder) => path.startsWith(folder))).flatMap(declaredIn);
  const holding = new Set<string>(roots);
  const places = new Set<string>();
  for (let before = -1; before !== places.size; ) {
    before = places.size;
    for (const { place, type, names } of all) {
      if (!names.some((name) => holding.has(name))) continue;
      places.add(place);
      if (type !== null) holding.add(type);
    }
  }
  return [...places].toSorted();
}

function declaredIn({ path, text }: Source): readonly Declared[] {
  const { program, module } = parseSource(path, text);
  const imported = new Map<string, string>();
  for (const { moduleRequest, entries } of module.staticImports)
    for (const { localName, importName } of entries) {
      const name = importName.name ?? '';
      const from = moduleRequest.value;
      const own = from.startsWith('.') ? `${normalize(join(dirname(path), from))}#${name}` : ofPackages.get(name);
      if (own !== undefined && (from.startsWith('.') || from.startsWith('@tollgate/sidecar'))) imported.set(localName.value, own);
    }
  const resolved = (name: string): string => imported.get(name) ?? `${path}#${name}`;
  const found: Declared[] = [];
  walk(program, (node, above) => {
    const names = (of: unknown): readonly string[] => namedIn(of).map(resolved);
    const owner = above.findLast(
      ({ type }) => type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration' || type === 'ClassDeclaration',
    );
    const typeName = nameOf(owner?.['id']);
    switch (node.type) {
      case 'TSPropertySignature':
      case 'PropertyDefinition':
        if (typeName !== '' && !above.some(({ type }) => calls.has(type) || functions.has(type)))
          found.push({
            place: `${path}#${typeName}.${nameOf(node['key'])}`,
            type: `${path}#${typeName}`,
            names: names(node['typeAnnotation']),
          });
        return;
      case 'TSInterfaceDeclaration': {
        const place = `${path}#${nameOf(node['id'])}`;
        return void found.push({ place, type: place, names: [node['extends']].flat().flatMap(names) });
      }
      case 'TSTypeAliasDeclaration': {
        const place = `${path}#${nameOf(node['id'])}`;
        return void found.push({ place, type: place, names: names(node['typeAnnotation']) });
      }
      case 'VariableDeclarator': {
        const id = node['id'];
        const maker = above.findLast(({ type }) => functions.has(type));
        if (isNode(id) && (maker === undefined || outlives(maker, nameOf(id))))
          found.push({ place: `${path}#${nameOf(id)}`, type: null, names: names(id['typeAnnotation']) });
      }
    }
  });
  return found;
}

/** The names of types, but of what functions take and answer, of what is held weakly, and of fields, which stand for themselves. */
function namedIn(root: unknown): readonly string[] {
  if (!isNode(root)) return [];
  const found: string[] = [];
  walk(root, (node, above) => {
    const isName = node.type === 'TSTypeReference' || node.type === 'TSInterfaceHeritage';
    if (!isName || above.some(leadsNowhere)) return;
    const name = nameOf(node['typeName'] ?? node['expression']);
    if (!weak.has(name)) found.push(name);
  });
  return found;
}

const leadsNowhere = (node: Node): boolean =>
  calls.has(node.type) || node.type === 'TSPropertySignature' || (node.type === 'TSTypeReference' && weak.has(nameOf(node['typeName'])));

// Finds the places whose types show that something holds a snapshot: an index, a caller bound under one, a document of
// one, or a type with one of these in a field. A field counts wherever it is declared. A variable counts where it has
// an explicit type and outlives its function. The parameters and results of functions do not count, and neither does a
// weak reference. Types are followed by name through imports. What a type does not show (a captured variable with an
// inferred type) is found only by test/sidecar/doors/held-snapshots.test.ts.
import { dirname, join, normalize } from 'node:path';
import { isNode, type Node, parseSource, walk } from '../measure/static/syntax.ts';
import { outlives } from './kept.ts';

export interface Source {
  readonly path: string;
  readonly text: string;
}

/** A field, a type composed of others, or a variable, with the types that it names, each as `<path>#<name>`. */
interface Declaration {
  readonly place: string;
  /** The type that it is part of. Null: a variable. */
  readonly type: string | null;
  readonly names: readonly string[];
}

const roots = [
  'sidecar/engine/decide/build-index.ts#Index',
  'sidecar/engine/decide/caller.ts#Caller',
  'sidecar/engine/decide/caller.ts#BoundHop',
  'sidecar/engine/decide/document.ts#IndexedDocument',
] as const;
/** The names by which packages export them. */
const ofPackages = new Map(roots.map((root) => [root.slice(root.indexOf('#') + 1), root]));
/** What these folders make belongs to a snapshot and is released with it. The cell there holds the current snapshot. */
const snapshots: readonly string[] = ['sidecar/engine/decide/', 'sidecar/engine/snapshot/'];
const weak: ReadonlySet<string> = new Set(['WeakRef', 'WeakMap', 'WeakSet']);
const calls: ReadonlySet<string> = new Set(['TSFunctionType', 'TSMethodSignature', 'TSConstructorType', 'TSTypeQuery']);
const functions: ReadonlySet<string> = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

const nameOf = (node: unknown): string => (isNode(node) && typeof node['name'] === 'string' ? node['name'] : '');

/** Returns the places, sorted. */
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

function declaredIn({ path, text }: Source): readonly Declaration[] {
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
  const found: Declaration[] = [];
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

/**
 * Returns the names of types, except those of parameters and results of functions, of weak references, and of fields,
 * which are declared separately.
 */
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

// Resolves an import to a file of the tree: relative paths, and packages of our own workspaces through their `exports`.
// Called by structure.ts, and by ways/ for built files.
import { posix } from 'node:path';
import { isRecord, type Tree, type Workspace } from '../../support/checkout/tree.ts';

/** The condition that selects sources; the others find the built file, and from that the source. */
const sourceConditions = ['tollgate-source', 'types', 'import', 'node', 'default'];

export type Resolve = (importer: string, specifier: string) => string | null;

export function createResolve(tree: Tree): Resolve {
  const files = new Set(tree.files);
  return (importer, specifier) => {
    if (/^\.{1,2}(?:\/|$)/.test(specifier)) return findSource(posix.join(posix.dirname(importer), specifier), files);
    const target = specifier.startsWith('#')
      ? ownImport(tree.workspaces, importer, specifier)
      : packageImport(tree.workspaces, specifier, sourceConditions);
    return target === null ? null : findSource(target, files);
  };
}

/**
 * The path that a workspace's `exports` (else `main`) give for an import by its name; null: no workspace has that name
 * or export.
 */
export function packageImport(workspaces: readonly Workspace[], specifier: string, conditions: readonly string[]): string | null {
  const workspace = workspaces.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
  if (workspace === undefined) return null;
  const { exports = workspace.manifest['main'] ?? './index.js' } = workspace.manifest;
  const table = isRecord(exports) && Object.keys(exports).some((key) => key.startsWith('.')) ? exports : { '.': exports };
  const target = lookUp(table, `.${specifier.slice(workspace.name.length)}`, new Set(conditions));
  return target === null ? null : posix.join(workspace.folder, target);
}

function ownImport(workspaces: readonly Workspace[], importer: string, specifier: string): string | null {
  const workspace = workspaces.find(({ folder }) => importer.startsWith(`${folder}/`));
  const table = workspace?.manifest['imports'];
  if (workspace === undefined || !isRecord(table)) return null;
  const target = lookUp(table, specifier, new Set(sourceConditions));
  return target === null ? null : posix.join(workspace.folder, target);
}

function lookUp(table: Readonly<Record<string, unknown>>, key: string, conditions: ReadonlySet<string>): string | null {
  if (Object.hasOwn(table, key)) return targetOf(table[key], conditions);
  // Node uses the pattern with the longest part before the star.
  const patterns = Object.keys(table)
    .filter((pattern) => pattern.includes('*'))
    .toSorted((one, other) => other.indexOf('*') - one.indexOf('*'));
  for (const pattern of patterns) {
    const [before = '', after = ''] = pattern.split('*');
    if (!key.startsWith(before) || !key.endsWith(after) || key.length < pattern.length) continue;
    return targetOf(table[pattern], conditions)?.replaceAll('*', key.slice(before.length, key.length - after.length)) ?? null;
  }
  return null;
}

function targetOf(value: unknown, conditions: ReadonlySet<string>): string | null {
  if (typeof value === 'string') return value;
  if (!isRecord(value)) return null;
  for (const [condition, target] of Object.entries(value)) {
    const found = conditions.has(condition) ? targetOf(target, conditions) : null;
    if (found !== null) return found;
  }
  return null;
}

const replacements: readonly (readonly [RegExp, string])[] = [
  [/$/, ''],
  [/\.js$/, '.ts'],
  [/\.jsx?$/, '.tsx'],
  [/\.mjs$/, '.mts'],
  [/\.cjs$/, '.cts'],
  [/\.d\.ts$/, '.ts'],
  [/$/, '.ts'],
  [/$/, '.tsx'],
  [/$/, '.js'],
  [/\/?$/, '/index.ts'],
  [/\/?$/, '/index.js'],
];

/** An import may name the compiler's output of the source. */
function findSource(path: string, files: ReadonlySet<string>): string | null {
  for (const base of [path, path.replace(/(^|\/)dist\//, '$1'), path.replace(/(^|\/)dist\//, '$1src/')]) {
    for (const [ending, by] of replacements) {
      const candidate = base.replace(ending, by);
      if (files.has(candidate)) return candidate;
    }
  }
  return null;
}

// The files of a tree of this repository, in any layout: those that git tracks, or would add. `workspaces` of
// package.json defines which of them are product sources. Called by test/measure, and by build.ts.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface Workspace {
  /** From the root, with `/` between its parts. */
  readonly folder: string;
  readonly name: string;
  readonly manifest: Readonly<Record<string, unknown>>;
}

export interface Tree {
  readonly root: string;
  /** From the root, sorted. */
  readonly files: readonly string[];
  readonly workspaces: readonly Workspace[];
  read(path: string): string;
}

const codeEndings = new Set(['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs']);
const leftOut = new Set(['test', 'tests', '__tests__', 'examples', 'gen', 'generated', 'dist', 'coverage', 'node_modules']);
const generatedHead = /^\s*(?:\/\/|\/\*)[^\n]*(?:@generated|auto-?generated|code generated|do not edit)/im;

export const productDefinition =
  `TypeScript and JavaScript of the workspaces, without declarations (.d.ts), *.test.* and *.spec.*, ` +
  `without folders named ${[...leftOut].join(', ')}, and without files whose head says that they are generated`;

export function openTree(root: string): Tree {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  });
  // A file that is removed, but not yet from the index, does not exist any more.
  const files = [...new Set(listed.split('\0'))].filter((path) => path !== '' && existsSync(join(root, path))).toSorted();
  const texts = new Map<string, string>();
  const read = (path: string): string => {
    const text = texts.get(path) ?? readFileSync(join(root, path), 'utf8');
    texts.set(path, text);
    return text;
  };
  return { root, files, read, workspaces: findWorkspaces(files, read) };
}

function findWorkspaces(files: readonly string[], read: (path: string) => string): readonly Workspace[] {
  const { workspaces } = parseManifest('package.json', read);
  // npm also accepts `{ packages: […] }`.
  const patterns = Array.isArray(workspaces) ? workspaces : isRecord(workspaces) ? workspaces['packages'] : undefined;
  if (!Array.isArray(patterns)) throw new Error('package.json has no list `workspaces`: which sources to measure is read from it');
  const expressions = patterns.map((pattern) => expressionOf(String(pattern)));
  return files
    .filter((path) => path.endsWith('/package.json'))
    .map((path) => path.slice(0, -'/package.json'.length))
    .filter((folder) => expressions.some((expression) => expression.test(folder)))
    .map((folder) => {
      const manifest = parseManifest(`${folder}/package.json`, read);
      return { folder, name: typeof manifest['name'] === 'string' ? manifest['name'] : folder, manifest };
    });
}

const expressionOf = (pattern: string): RegExp => {
  const plain = pattern.replace(/^\.\//, '').replace(/\/$/, '');
  return new RegExp(`^${plain.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*')}$`);
};

function parseManifest(path: string, read: (path: string) => string): Readonly<Record<string, unknown>> {
  const parsed: unknown = JSON.parse(read(path));
  if (!isRecord(parsed)) throw new Error(`${path} is not a JSON object`);
  return parsed;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export const isCode = (path: string): boolean => codeEndings.has(extname(path)) && !/\.d\.[mc]?ts$/.test(path);

/** Whether the file is generated: generated code is not measured. */
export const isGenerated = (tree: Tree, path: string): boolean =>
  path.split('/').some((part) => part === 'gen' || part === 'generated') ||
  (isCode(path) && generatedHead.test(tree.read(path).slice(0, 500)));

/** As `productDefinition` says. */
export const productFiles = (tree: Tree): readonly string[] => tree.files.filter((path) => isProduct(tree, path));

function isProduct(tree: Tree, path: string): boolean {
  const workspace = tree.workspaces.find(({ folder }) => path.startsWith(`${folder}/`));
  if (workspace === undefined || !isCode(path) || /\.(?:test|spec)\.\w+$/.test(path)) return false;
  const parts = path.slice(workspace.folder.length + 1).split('/');
  return !parts.slice(0, -1).some((part) => leftOut.has(part)) && !isGenerated(tree, path);
}

// Everything that a process stores, and each table of the database, must be listed in docs/design/bounds.md with its
// bound. A new collection fails here until it is listed. A collection that callers can make grow also needs a number
// and a test.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { findHolders } from './holders.ts';
import { findKept } from './kept.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
// The command line ends with its command. A server does not run generated code or examples.
const skipped: ReadonlySet<string> = new Set(['node_modules', 'dist', 'gen', 'console', 'examples', 'migrations', 'cli']);

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : sourcesIn(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts') ? [path] : [];
  });
}

interface Row {
  readonly section: string;
  readonly places: readonly string[];
  readonly cells: readonly string[];
}

function rowsOf(text: string): readonly Row[] {
  let section = '';
  return text.split('\n').flatMap((line) => {
    if (line.startsWith('## ')) section = line.slice(3);
    if (!line.startsWith('| ') || /^\| *-/.test(line)) return [];
    const cells = line.split(' | ').map((cell) => cell.replaceAll(/^\||\|$/g, '').trim());
    return [{ section, cells, places: [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, place = '']) => place) }];
  });
}

const rows = rowsOf(readFileSync(join(root, 'docs/design/bounds.md'), 'utf8'));
const isPlace = (place: string): boolean => place.includes('.ts#');
/** The heading of the section about types and variables, not collections. */
const holders = 'What holds a snapshot';

describe('docs/design/bounds.md', () => {
  const sources = ['sidecar', 'control-plane', 'deploy/inject', 'proto']
    .flatMap(sourcesIn)
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
  const kept = sources.flatMap(({ path, text }) => findKept(path, text));
  const named = rows.filter(({ section }) => section !== holders).flatMap(({ places }) => places.filter(isPlace));

  test('names every type and variable that holds a snapshot, and no others', () => {
    const there = findHolders(sources);
    expect(
      rows
        .filter(({ section }) => section === holders)
        .flatMap(({ places }) => places.filter(isPlace))
        .toSorted(),
    ).toEqual(there);
  });

  test('names every collection that a process stores, once', () => {
    const known = new Set(named);
    expect(kept.filter(({ place }) => !known.has(place)).map(({ place }) => place)).toEqual([]);
    expect(named.filter((place, at) => named.indexOf(place) !== at)).toEqual([]);
    expect(kept.length).toBeGreaterThan(100);
  });

  test('names no collection that does not exist', () => {
    const there = new Set(kept.map(({ place }) => place));
    expect(named.filter((place) => !there.has(place))).toEqual([]);
  });

  test('gives a number and a test for every collection that callers can make grow', () => {
    const callers = rows.filter(({ section, places }) => section === 'What callers can make grow' && places.some(isPlace));
    expect(callers.length).toBeGreaterThan(20);
    for (const { cells } of callers) {
      const [place, , bound = '', , shown = ''] = cells;
      expect(/\d/.test(bound), `${place} has no number in: ${bound}`).toBe(true);
      const tests = [...shown.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
      expect(tests.filter((path) => existsSync(join(root, path))).length, `${place} names no test that exists: ${shown}`).toBeGreaterThan(
        0,
      );
    }
  });

  test('names every table of the database', () => {
    const folder = join(root, 'control-plane/database/migrations');
    const sql = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    const tables = sql.flatMap((text) => [...text.matchAll(/^\s*create table (?:if not exists )?(\w+)/gim)].map(([, name = '']) => name));
    const named = new Set(rows.filter(({ section }) => section === 'Tables').flatMap(({ places }) => places));
    expect([...new Set(tables)].filter((table) => !named.has(table))).toEqual([]);
    expect(named.size).toBe(new Set(tables).size);
  });
});

describe('a collection is found', () => {
  const found = (text: string): readonly string[] => findKept('x.ts', text).map(({ name }) => name);

  test('in the module, in a field, and where a function that is returned or passed on uses it', () => {
    expect(found('const seen = new Set<string>();')).toEqual(['seen']);
    expect(found('class A { readonly #byKey = new Map<string, number>(); }')).toEqual(['byKey']);
    expect(found('class A { queue: string[] = []; }')).toEqual(['queue']);
    expect(found('class A { #late: Map<string, number> | null = null; put(k) { this.#late ??= new Map(); } }')).toEqual(['late']);
    expect(found('const make = () => { const all = new LRUCache({ max: 3 }); return { put: (k) => all.set(k, 1) }; };')).toEqual(['all']);
    expect(found('function make() { let line = []; const put = (one) => { line.push(one); }; return put; }')).toEqual(['line']);
  });

  test('but not where it ends with the call, or has the size of its source', () => {
    expect(found('const sum = (all) => { const seen = new Map(); for (const one of all) seen.set(one, 1); return seen.size; };')).toEqual(
      [],
    );
    expect(
      found('const unique = (all) => { const seen = new Set(); return all.filter((one) => !seen.has(one) && seen.add(one)); };'),
    ).toEqual([]);
    expect(found("const words = new Set(['a', 'b']);")).toEqual([]);
  });
});

describe('a holder of a snapshot is found', () => {
  const index = { path: 'sidecar/engine/decide/build-index.ts', text: 'export interface Index { revision: number }' };
  const found = (text: string, ...others: readonly { path: string; text: string }[]): readonly string[] =>
    findHolders([index, { path: 'sidecar/doors/x.ts', text }, ...others]).map((place) => place.slice('sidecar/doors/'.length));
  const imports = "import type { Index } from '../engine/decide/build-index.ts';";

  test('in fields, in variables that stay, and in types with such a field', () => {
    expect(found(`${imports} interface A { readonly index: Index | null }`)).toEqual(['x.ts#A.index']);
    expect(found(`${imports} class A { all: Map<string, Index> | null = null; }`)).toEqual(['x.ts#A.all']);
    expect(found(`${imports} const make = () => { let seen: Index | null = null; return () => (seen = next()); };`)).toEqual(['x.ts#seen']);
    expect(found(`${imports} type A = Pick<Index, 'revision'> & { more: string };`)).toEqual(['x.ts#A']);
    expect(
      found(`${imports} export interface A { readonly index: Index }`, {
        path: 'sidecar/doors/y.ts',
        text: "import type { A as Given } from './x.ts'; interface B extends Given { b: 1 } interface C { readonly line: B[] }",
      }),
    ).toEqual(['x.ts#A.index', 'y.ts#B', 'y.ts#C.line']);
  });

  test('but not where the reference is weak, or only passed through', () => {
    expect(
      found(`${imports} interface A { readonly index: WeakRef<Index>; find(index: Index): void; look: (index: Index) => Index }`),
    ).toEqual([]);
    expect(found(`${imports} const seen = new WeakMap<Index, string>(); const use = (index: Index): number => index.revision;`)).toEqual(
      [],
    );
    expect(found('interface Index { a: 1 } interface A { readonly index: Index }')).toEqual([]);
  });
});

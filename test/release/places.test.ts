// The version of a release: every place of the list has that of the root's package.json, no other file has it, and the
// command that sets it writes them all.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { findDifferences, findUnlisted, places, type ReadFile, readVersion, setVersion } from '../../.ci/release/places.ts';
import { names } from '../support/names.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read: ReadFile = (path) => readFileSync(join(root, path), 'utf8');
const version = readVersion(read);

/** `read` with another text for some files. */
const readWith =
  (texts: ReadonlyMap<string, string>): ReadFile =>
  (path) =>
    texts.get(path) ?? read(path);

/** Every text of programs, packages, deployment and documents; tests have examples of their own. */
const shipped = [
  'proto',
  'sidecar',
  'cli',
  'control-plane',
  'console',
  'deploy',
  'clients',
  'site',
  'docs',
  'examples',
  ':(glob)*.md',
  ':(glob)*.json',
];
const files = execFileSync('git', ['ls-files', '-z', '--', ...shipped], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '' && !/\.(?:png|svg|ico|woff2|gz)$/.test(path));

test('every place has the version of package.json', () => {
  expect(findDifferences(read)).toEqual([]);
});

test('no other file of what is shipped has the version', () => {
  expect(files.length).toBeGreaterThan(500);
  expect(findUnlisted(files, read)).toEqual([]);
});

test('every package of names.json is a place', () => {
  const manifests = Object.keys(names.packages).map((folder) => `${folder}/package.json`);
  expect(places.map(({ path }) => path)).toEqual(expect.arrayContaining(manifests));
});

test.each(places)('$path: another version is found in each line that has one', ({ path, find, replace }) => {
  const lines = read(path).split('\n');
  const changed = replace(read(path), '9.9.9').split('\n');
  const differing = lines.flatMap((line, at) => (line === changed[at] ? [] : [at]));
  expect(changed).toHaveLength(lines.length);
  expect(differing).not.toEqual([]);
  for (const at of differing) expect(find(lines.with(at, changed[at] ?? '').join('\n')), lines[at]).toContain('9.9.9');
});

test('a place without a version is found', () => {
  const chart = 'deploy/helm/tollgate/Chart.yaml';
  const without = read(chart).replace(/^appVersion: .*\n/m, '');
  expect(findDifferences(readWith(new Map([[chart, without]])))).toEqual([
    `${chart} has the version none, and package.json has ${version}`,
  ]);
});

test('a file that is not listed is found', () => {
  const path = 'sidecar/base/version.ts';
  const texts = new Map([[path, `export const version = '${version}';\n`]]);
  expect(findUnlisted([path, 'sidecar/package.json'], readWith(texts))).toEqual([path]);
});

test('setting a version changes every place, and nothing else', () => {
  const texts = setVersion('2.0.0-rc.1', read);
  expect([...texts.keys()].toSorted()).toEqual([...new Set(places.map(({ path }) => path))].toSorted());
  const after = readWith(texts);
  expect(findDifferences(after)).toEqual([`CHANGELOG.md begins with the version ${version}, and package.json has 2.0.0-rc.1`]);
  const back = setVersion(version, after);
  for (const [path, text] of back) expect(text, path).toBe(read(path));
});

test('a text that is no version is refused', () => {
  for (const wrong of ['1.0', 'v1.0.0', '1.0.0 ', '']) expect(() => setVersion(wrong, read)).toThrow('is no version');
});

// What `npm run release` does without containers and registries: it refuses to publish, it refuses to begin, and its lists
// of parts are the same in each run. `npm run test:long -- release` makes everything.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packages } from '../../.ci/release/make.ts';
import { howToPublish } from '../../.ci/release/publishing.ts';
import { type Bom, listOfDistribution, listOfPackage, textOf } from '../../.ci/release/sbom.ts';
import { names } from '../support/names.ts';
import { compareSums } from './compare-sums.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-release-unit-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const release = (...words: readonly string[]) =>
  spawnSync(process.execPath, ['--import', 'tsx', '.ci/release.ts', ...words], { cwd: root, encoding: 'utf8' });

test('without --dry-run nothing is made or published, and the steps of a maintainer are printed', () => {
  const out = join(folder, 'out');
  const { status, stdout, stderr } = release('--out', out);
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(/^Nothing was published, and no command of this repository publishes/);
  expect(existsSync(out)).toBe(false);
});

test('the steps publish every package of names.json after those that it needs, both images, and the chart', () => {
  expect(new Map(packages)).toEqual(new Map(Object.entries(names.packages)));
  const steps = howToPublish('1.2.3', 'here');
  const published = [...steps.matchAll(/npm publish --access public \.\/npm\/(\S+)/g)].map(([, file]) => file);
  expect(published).toEqual([
    'tollgate-proto-1.2.3.tgz',
    'tollgate-inject-1.2.3.tgz',
    'tollgate-sidecar-1.2.3.tgz',
    'tollgate-cli-1.2.3.tgz',
    'tollgate-console-1.2.3.tgz',
    'tollgate-control-plane-1.2.3.tgz',
  ]);
  for (const program of names.images.names) expect(steps).toContain(`$REPOSITORY/${program}:1.2.3`);
  expect(steps).toContain('helm push chart/tollgate-1.2.3.tgz');
  expect(steps).toContain('--dry-run --out here');
});

test('a folder that holds something else is not replaced, and an unknown kind is refused', () => {
  const out = join(folder, 'mine');
  writeFileSync(out, 'a file of mine');
  const { status, stderr } = release('--dry-run', '--out', out, '--only', 'npm,wheel');
  expect(status).toBe(2);
  expect(stderr).toContain('--only has wheel; known are npm, python, chart, images');
  expect(stderr).toContain(`${out} is there and is no release`);
  expect(existsSync(out)).toBe(true);
});

test('a version that is none is refused, and no file is written', () => {
  const { status, stderr } = release('--set-version', '1.0');
  expect({ status, stderr }).toEqual({ status: 1, stderr: '1.0 is no version; write it as 1.2.3, or 1.2.3-rc.1\n' });
});

/** As npm has it: a package of a repository has the name of its folder. */
const part = (name: string) => ({ 'bom-ref': `@of/${name}@1.0.0`, type: 'library', name, version: '1.0.0' });
const whole: Bom = {
  serialNumber: 'urn:uuid:00000000-0000-0000-0000-000000000000',
  metadata: { timestamp: '2026-01-01T00:00:00Z', component: part('root') },
  components: [...['a', 'b', 'c', 'd'].map(part), { ...part('tool'), properties: [{ name: 'cdx:npm:package:development' }] }],
  dependencies: [
    { ref: '@of/root@1.0.0', dependsOn: ['@of/a@1.0.0', '@of/d@1.0.0'] },
    { ref: '@of/a@1.0.0', dependsOn: ['@of/b@1.0.0', '@of/tool@1.0.0'] },
    { ref: '@of/b@1.0.0', dependsOn: ['@of/c@1.0.0', '@of/a@1.0.0'] },
    { ref: '@of/c@1.0.0' },
    { ref: '@of/d@1.0.0' },
    { ref: '@of/tool@1.0.0' },
  ],
};

test('the list of a package has what it needs, also by others and in a circle, and nothing else', () => {
  const sha256 = 'f'.repeat(64);
  const list = listOfPackage(whole, '@of/a@1.0.0', { sha256, isBundle: false });
  expect(list.metadata.component).toMatchObject({ name: '@of/a', hashes: [{ alg: 'SHA-256', content: sha256 }] });
  expect(list.components.map(({ name }) => name)).toEqual(['@of/b', '@of/c']);
  expect(list.dependencies).toEqual([
    { ref: '@of/a@1.0.0', dependsOn: ['@of/b@1.0.0'] },
    { ref: '@of/b@1.0.0', dependsOn: ['@of/c@1.0.0', '@of/a@1.0.0'] },
    { ref: '@of/c@1.0.0', dependsOn: [] },
  ]);
  const bundle = listOfPackage(whole, '@of/a@1.0.0', { sha256, isBundle: true });
  expect(bundle.components.map(({ name }) => name)).toEqual(['@of/b', '@of/c', '@of/tool']);
  expect(() => listOfPackage(whole, '@of/a@2.0.0', { sha256, isBundle: false })).toThrow('the list that npm made has no @of/a@2.0.0');
});

test('the list of a distribution has its version and digest', () => {
  const bom = { ...whole, metadata: { component: { type: 'application', name: 'tollgate-client' } } };
  expect(listOfDistribution(bom, '1.2.3', 'e'.repeat(64))).toEqual({
    ...whole,
    metadata: {
      component: {
        type: 'library',
        name: 'tollgate-client',
        version: '1.2.3',
        purl: 'pkg:pypi/tollgate-client@1.2.3',
        hashes: [{ alg: 'SHA-256', content: 'e'.repeat(64) }],
      },
    },
  });
});

test('a list is the same text in each run, and another one where its content differs', () => {
  const again = {
    ...whole,
    serialNumber: 'urn:uuid:11111111-1111-1111-1111-111111111111',
    metadata: { ...whole.metadata, timestamp: 'later' },
  };
  const text = textOf(whole, 1_700_000_000);
  expect(textOf(again, 1_700_000_000)).toBe(text);
  expect(JSON.parse(text)).toMatchObject({
    serialNumber: expect.stringMatching(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    metadata: { timestamp: '2023-11-14T22:13:20.000Z' },
  });
  const other = textOf({ ...whole, components: [] }, 1_700_000_000);
  expect(JSON.parse(other).serialNumber).not.toBe(JSON.parse(text).serialNumber);
});

test('a file that differs between two runs is named, and one that only one run made', () => {
  const line = (digit: string, name: string): string => `${digit.repeat(64)}  ${name}\n`;
  const first = line('a', 'chart/one.tgz') + line('b', 'npm/two.tgz');
  expect(compareSums(first, first)).toEqual([]);
  expect(compareSums(first, line('a', 'chart/one.tgz') + line('c', 'npm/two.tgz') + line('d', 'new'))).toEqual([
    'new differs between two runs',
    'npm/two.tgz differs between two runs',
  ]);
  // Archives of images may differ, and none may be missing.
  expect(compareSums(line('a', 'images/one'), line('b', 'images/one'))).toEqual([]);
  expect(compareSums(first + line('a', 'images/one'), first)).toEqual(['images/one differs between two runs']);
  expect(compareSums('', first)).toEqual(['the first run has no checksums']);
});

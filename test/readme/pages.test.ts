import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findPages, readPages } from './pages.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-pages-test-'));
  mkdirSync(join(folder, 'docs/guide'), { recursive: true });
  mkdirSync(join(folder, 'docs/doors'));
  write('docs/doors/python.md', block('python'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
const block = (info: string, text = 'true'): string => `\`\`\`${info}\n${text}\n\`\`\`\n`;
const noRun = block('sh no-run: needs a cluster');

test('the pages are README, that of the Python client and those of the guide, and each has its own blocks', () => {
  write('README.md', block('sh', 'echo 1'));
  write('docs/guide/b.md', `Prose.\n${block('sh', 'echo 2')}`);
  write('docs/guide/a.md', 'No block.\n');
  write('docs/guide/picture.svg', '');
  write('docs/other.md', block('sh'));
  const names = findPages(folder);
  expect(names).toEqual(['README.md', 'docs/doors/python.md', 'docs/guide/a.md', 'docs/guide/b.md']);
  expect(readPages(folder, names)).toEqual({
    pages: [
      { name: 'README.md', blocks: [{ kind: 'shell', line: 2, text: 'echo 1', inBackground: false }] },
      { name: 'docs/doors/python.md', blocks: [{ kind: 'text', line: 2, text: 'true' }] },
      { name: 'docs/guide/a.md', blocks: [] },
      { name: 'docs/guide/b.md', blocks: [{ kind: 'shell', line: 3, text: 'echo 2', inBackground: false }] },
    ],
    problems: [],
  });
});

test('a problem names its page', () => {
  write('README.md', block('sh'));
  write('docs/guide/a.md', `\n${block('yaml')}`);
  expect(readPages(folder, findPages(folder)).problems).toEqual([
    expect.stringMatching(/^docs\/guide\/a\.md line 2: the block has the info string "yaml"; known are /),
  ]);
});

test('a fourth no-run is an error, and three are not, over all pages together', () => {
  write('README.md', noRun + noRun);
  write('docs/guide/a.md', noRun);
  expect(readPages(folder, findPages(folder)).problems).toEqual([]);
  write('docs/guide/b.md', `Prose.\n${noRun}`);
  expect(readPages(folder, findPages(folder)).problems).toEqual([
    'docs/guide/b.md line 2: 4 blocks are marked no-run, 3 at most may be; make this one run',
  ]);
});

test('every block of these pages has a known mark', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  expect(readPages(root, findPages(root)).problems).toEqual([]);
});

test('the page that the cluster test runs has blocks of shell commands alone, and each can be run', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { pages, problems } = readPages(root, ['docs/operate/try-kubernetes.md']);
  const blocks = pages.flatMap((page) => page.blocks);
  expect(problems).toEqual([]);
  expect(blocks.length).toBeGreaterThan(4);
  expect(new Set(blocks.map(({ kind }) => kind))).toEqual(new Set(['shell']));
});

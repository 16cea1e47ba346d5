// Links between our documents lead somewhere: to a file that there is, and to a heading in it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'deploy/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** Without blocks of code, where `#` begins a comment. */
const proseOf = (path: string): string => readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');

/** As GitHub makes them. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const anchorsIn = (path: string): ReadonlySet<string> =>
  new Set([...proseOf(path).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = '']) => anchorOf(heading)));

function deadLinks(document: string): readonly string[] {
  const path = join(root, document);
  const links = [...proseOf(path).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#', 2);
    const target = file === '' ? path : resolve(dirname(path), file);
    return !existsSync(target) || (anchor !== undefined && !anchorsIn(target).has(anchor));
  });
}

test.each(documents)('every link of %s leads to a file and a heading that there are', (document) => {
  expect(deadLinks(document)).toEqual([]);
});

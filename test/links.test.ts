// Checks that the links between the documents of this repository lead to an existing file and to an existing heading in
// it, and that the paths of CONTRIBUTING.md and of ways.md exist. `.ci/site.ts` checks the same of the
// built site.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { anchorOf } from '../site/anchor.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

const documents = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'clients/python/README.md',
  'deploy/README.md',
  'deploy/helm/tollgate/README.md',
  'examples/approvals-chat/README.md',
  'examples/policies/README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The text without code blocks, in which `#` begins a comment. */
const proseOf = (path: string): string => readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');

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

/** The paths in backticks. A path with a placeholder such as `<noun>` is none. */
const pathsIn = (text: string): readonly string[] =>
  [...text.matchAll(/`((?:\.ci|proto|sidecar|control-plane|cli|deploy|test|docs|examples)\/[\w./-]+)`/g)].map(([, path = '']) => path);

test.each(['CONTRIBUTING.md', 'docs/design/ways.md'])('every path that %s names exists', (page) => {
  const paths = pathsIn(readFileSync(join(root, page), 'utf8'));
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test.each(documents)('every link of %s leads to an existing file and heading', (document) => {
  expect(deadLinks(document)).toEqual([]);
});

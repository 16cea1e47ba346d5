// What the first page loads.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const dist = new URL('../../console/dist/', import.meta.url);

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
}

const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8')) as Readonly<Record<string, Chunk>>;

/** The files that are loaded with this one. */
function withImports(name: string, found = new Set<string>()): ReadonlySet<string> {
  const chunk = manifest[name];
  if (chunk === undefined || found.has(chunk.file)) return found;
  found.add(chunk.file);
  for (const one of chunk.imports ?? []) withImports(one, found);
  return found;
}

const zipped = (files: Iterable<string>): number =>
  [...files].reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, dist)), { level: 9 }).length, 0);

const entry = Object.keys(manifest).find((name) => manifest[name]?.isEntry === true) ?? '';

test.each(Object.keys(manifest).filter((name) => /\/(?:page|one)\.tsx$/.test(name)))(
  'what is loaded to show %s is at most 250 kB of script, compressed',
  (page) => {
    const files = new Set([...withImports(entry), ...withImports(page)]);
    expect(zipped(files)).toBeLessThanOrEqual(250_000);
  },
);

test('the page has no inline script, and its styles come from files or carry a nonce', () => {
  const html = readFileSync(new URL('index.html', dist), 'utf8');
  for (const [tag] of html.matchAll(/<script\b[^>]*>/g)) expect(tag).toMatch(/ src="\/console\/assets\//);
  expect(html).not.toMatch(/<style|\son\w+=|javascript:/);
  expect([...html.matchAll(/https?:/g)]).toEqual([]);
});

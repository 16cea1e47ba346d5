// Which files of the repository are pages of the site, and at which path. Paths of files are from the root of the
// repository, with `/`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Documents outside of docs/, at the path that they have on the site. */
const outside: Readonly<Record<string, string>> = {
  'README.md': 'project/readme.md',
  'CONTRIBUTING.md': 'project/contributing.md',
  'SECURITY.md': 'project/security.md',
  'CHANGELOG.md': 'project/changelog.md',
  'deploy/README.md': 'project/deploy.md',
};

const inDocs = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
  .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  .filter((name) => name.endsWith('.md'))
  .toSorted();

export const sources: readonly string[] = [...inDocs, ...Object.keys(outside)];

/** Patterns of every file next to a source that is not a page, so that VitePress does not look there. */
export const excluded: readonly string[] = ['', 'deploy/'].flatMap((folder) =>
  readdirSync(root + folder, { withFileTypes: true })
    .filter(({ name }) => !sources.some((source) => source === folder + name || source.startsWith(`${folder}${name}/`)))
    .filter((entry) => entry.isDirectory() || entry.name.endsWith('.md'))
    .map((entry) => folder + entry.name + (entry.isDirectory() ? '/**' : '')),
);

/** The path of a source on the site, with `.md`; null: it is no page. */
export function pageOf(source: string): string | null {
  if (!sources.includes(source)) return null;
  return outside[source] ?? source.slice('docs/'.length);
}

/** Old paths, which only say where their text is now: pages of docs/ itself except two, and the old folder of decisions. */
export const isStub = (source: string): boolean =>
  source.startsWith('docs/adr/') || (/^docs\/[^/]+$/.test(source) && source !== 'docs/index.md' && source !== 'docs/known-limits.md');

export const readSource = (source: string): string => readFileSync(root + source, 'utf8');

/** The first heading of level 1, without marks of code. */
export const titleOf = (source: string): string => (/^# (.+)$/m.exec(readSource(source))?.[1] ?? source).replaceAll('`', '');

export const exists = (path: string): boolean => existsSync(root + path);

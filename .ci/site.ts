// Checks the built site: every page is in the sidebar, every link and anchor of it leads somewhere, it needs no other
// host, and its search finds the pages that answer the questions of test/docs/questions.yaml: for at least eight of ten
// questions the page is among the first three results. Called by `.ci/site`. Its
// last line is `site: N checks, N failed`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { posix } from 'node:path';
import { parse } from 'yaml';
import { isStub, pageOf, sources } from '../site/pages.ts';
import { indexOptions, searchOptions } from '../site/search.ts';
import { missingInSidebar } from '../site/sidebar.ts';

const dist = new URL('../site/.vitepress/dist/', import.meta.url);
/** The page that answers must be among so many results. */
const firstMax = 3;
/** For so many of ten questions. */
const foundMin = 8;

const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
const pages = files.filter((name) => name.endsWith('.html'));
const html = new Map(pages.map((name) => [name, readFileSync(new URL(name, dist), 'utf8')]));

const decode = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
const attributes = (text: string, name: string): readonly string[] =>
  [...text.matchAll(new RegExp(` ${name}="([^"]*)"`, 'g'))].map(([, value = '']) => decode(value));

const anchors = new Map([...html].map(([name, text]) => [name, new Set(attributes(text, 'id'))]));

/** Links of all pages, those of the theme among them. */
function deadLinks(): readonly string[] {
  const dead: string[] = [];
  for (const [name, text] of html)
    for (const href of new Set([...text.matchAll(/<a [^>]*>/g)].flatMap(([tag]) => attributes(tag, 'href')))) {
      if (/^[a-z]+:/.test(href)) continue;
      const [path = '', anchor = ''] = decodeURI(href).split('#', 2);
      const joined = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(name), path);
      const target = path === '' ? name : joined === '' || joined.endsWith('/') ? `${joined}index.html` : joined;
      if (!existsSync(new URL(target, dist)) || (anchor !== '' && anchors.get(target)?.has(anchor) !== true)) dead.push(`${name}: ${href}`);
    }
  return dead;
}

/** The theme has this address for icons of social links. The site has no such link, which `otherHosts` checks too. */
const socialIcons = 'https://api.iconify.design/simple-icons/';

/** What a browser loads without being asked: by tags of pages, by style sheets, and by scripts that import. */
function otherHosts(): readonly string[] {
  const loads = /<(?:script|img|iframe|source|video|audio|embed|object|link)\b[^>]*?\b(?:src|href|srcset|data)="(?:https?:)?\/\/[^"]*"/g;
  const imports = /(?:\burl\(\s*["']?|@import\s+["']?|\bimport\(\s*["'`]|\bfrom\s*["'`]|\bfetch\(\s*["'`])(?:https?:)?\/\/[^"'`)\s]*/g;
  return [
    ...[...html].flatMap(([name, text]) => [...text.matchAll(loads)].map(([found]) => `${name}: ${found}`)),
    ...[...html].filter(([, text]) => text.includes('VPSocialLink"')).map(([name]) => `${name}: a social link`),
    ...files
      .filter((name) => /\.(?:css|js)$/.test(name) && !name.includes('.md.'))
      .flatMap((name) =>
        [...readFileSync(new URL(name, dist), 'utf8').matchAll(imports)]
          .map(([found]) => found)
          .filter((found) => !found.includes(socialIcons))
          .map((found) => `${name}: ${found}`),
      ),
  ];
}

interface Question {
  readonly ask: string;
  readonly page: string;
  readonly spare?: boolean;
}

interface Index {
  search(text: string): readonly { readonly id: string }[];
}

async function readIndex(): Promise<Index> {
  const name = files.find((one) => /@localSearchIndexroot\..*\.js$/.test(one));
  if (name === undefined) throw new Error('the site has no search index');
  const { default: text } = (await import(new URL(name, dist).href)) as { readonly default: string };
  // The library that the site has, with the settings that its browser part has.
  const MiniSearch = createRequire(new URL('../site/package.json', import.meta.url))('minisearch') as {
    loadJSON(text: string, options: object): Index;
  };
  return MiniSearch.loadJSON(text, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions,
    ...indexOptions,
  });
}

/** The pages of the first results. The search has a result for each section, so a page may be there twice. */
const firstPages = (index: Index, text: string): readonly string[] =>
  index
    .search(text)
    .slice(0, firstMax)
    .map(({ id }) => id.replace(/^\//, '').replace(/(?:\.html)?(?:#.*)?$/, ''));

async function notFound(): Promise<readonly string[]> {
  const index = await readIndex();
  const questions = parse(readFileSync(new URL('../test/docs/questions.yaml', import.meta.url), 'utf8')) as readonly Question[];
  const missed: string[] = [];
  for (const { ask, page, spare = false } of questions) {
    const first = firstPages(index, ask);
    const at = first.indexOf(page);
    process.stdout.write(`${at === -1 ? 'not found' : `result ${at + 1}`}${spare ? ' (spare)' : ''}: ${ask}\n`);
    if (at === -1) process.stdout.write(`  wanted ${page}; first are ${first.join(', ')}\n`);
    if (at === -1 && !spare) missed.push(ask);
  }
  const asked = questions.filter(({ spare = false }) => !spare).length;
  return asked === 10 && asked - missed.length >= foundMin
    ? []
    : [`${asked - missed.length} of ${asked} questions, at least ${foundMin} of 10 must be`, ...missed];
}

async function stubsFound(): Promise<readonly string[]> {
  const index = await readIndex();
  const stubs = new Set(sources.filter(isStub).map((source) => pageOf(source)?.replace(/\.md$/, '')));
  return [...new Set(firstPages(index, 'moved').filter((page) => stubs.has(page)))];
}

const checks: readonly (readonly [string, readonly string[]])[] = [
  ['every document is a page', sources.filter((source) => !html.has((pageOf(source) ?? '').replace(/md$/, 'html')))],
  ['every page is in the sidebar: an index page links it', missingInSidebar()],
  ['every link leads to a page and an anchor', deadLinks()],
  ['no page loads anything of another host', otherHosts()],
  ['the search finds the pages that answer', await notFound()],
  ['the search finds no old path', await stubsFound()],
];
const failed = checks.filter(([, problems]) => problems.length > 0);
for (const [name, problems] of failed) process.stdout.write(`FAILED ${name}\n  ${problems.slice(0, 40).join('\n  ')}\n`);
process.stdout.write(`${pages.length} pages\nsite: ${checks.length} checks, ${failed.length} failed\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

// The sidebar, in the order in which docs/index.md and the start pages of guide and operations link their pages.
import { isStub, pageOf, readSource, sources, titleOf } from './pages.ts';
import { targetOf } from './links.ts';

interface Item {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly Item[];
}

const item = (source: string, text = titleOf(source)): Item => ({ text, link: `/${pageOf(source)}` });

const items = (sources: readonly string[]): readonly Item[] => sources.map((source) => item(source));

/** The sources below `folder` that the text links, each once, in their order; not the start page of the folder. */
function linkedIn(source: string, text: string, folder: string): readonly string[] {
  const pages = [...text.matchAll(/\]\(([^()\s]+)\)/g)].flatMap(([, href = '']) => {
    const target = targetOf(source, href.replace(/#.*/, ''));
    return target.kind === 'page' ? [sources.find((one) => `/${pageOf(one)}` === target.href) ?? ''] : [];
  });
  return [...new Set(pages)].filter((one) => one.startsWith(`${folder}/`) && one !== `${folder}/index.md`);
}

const linked = (source: string, folder: string): readonly string[] => linkedIn(source, readSource(source), folder);

const alerts: Item = {
  ...item('docs/operate/alerts/index.md'),
  collapsed: true,
  items: items(linked('docs/operate/alerts/index.md', 'docs/operate/alerts')),
};

const decisions: Item = {
  ...item('docs/design/decisions/index.md'),
  collapsed: true,
  items: items(linked('docs/design/decisions/index.md', 'docs/design/decisions')),
};

/** The lists of the start page: one group for each heading. */
function operate(): readonly Item[] {
  const start = 'docs/operate/index.md';
  const [, ...parts] = readSource(start).split(/^## /m);
  return parts.flatMap((part) => {
    const [heading = ''] = part.split('\n', 1);
    const lists = part.replaceAll(/^(?!- ).*$/gm, '');
    const pages = linkedIn(start, lists, 'docs/operate');
    const below = pages.map((source) => (source === 'docs/operate/alerts/index.md' ? alerts : item(source)));
    return below.length === 0 ? [] : [{ text: heading, items: below }];
  });
}

const start = 'docs/index.md';
const inDesign = linked(start, 'docs/design').filter((source) => !source.startsWith('docs/design/decisions/'));

/** The section of the page that is shown opens by itself. */
const section = (text: string, items: readonly Item[], collapsed = true): Item => ({ text, collapsed, items });

export const sidebar: readonly Item[] = [
  section('Start', [item(start, 'What Tollgate is'), item('README.md', 'Two commands, one denied call')], false),
  section('Guide', [item('docs/guide/index.md', 'Before you begin'), ...items(linked('docs/guide/index.md', 'docs/guide'))]),
  section('Doors', items(linked(start, 'docs/doors'))),
  section('Known limits', [item('docs/known-limits.md'), item('SECURITY.md')]),
  section('Operate', [item('docs/operate/index.md', 'Start from what you see'), ...operate()]),
  section('Reference', items(linked(start, 'docs/reference'))),
  section('Design', [...items(inDesign), decisions]),
  section('Project', items(['CONTRIBUTING.md', 'CHANGELOG.md', 'deploy/README.md'])),
];

const linksOf = (items: readonly Item[]): readonly string[] =>
  items.flatMap(({ link, items: below = [] }) => [...(link === undefined ? [] : [link]), ...linksOf(below)]);

/** Pages that are no stub and that the sidebar does not have. */
export function missingInSidebar(): readonly string[] {
  const links = new Set(linksOf(sidebar));
  return sources.filter((source) => !isStub(source) && !links.has(`/${pageOf(source)}`));
}

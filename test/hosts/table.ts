// The table of results for real coding agents: as stored in the tree (expected.json), and as shown on its page. Pure.
import { checkNames, checkTitles, isCheck } from './checks.ts';
import type { Driver } from './driver.ts';
import { drivers } from './drivers/index.ts';

export interface Row {
  readonly version: string;
  /** By check: `holds`, or a text for what does not. */
  readonly cells: Readonly<Record<string, string>>;
}

export interface Table {
  /** The day when the programs were last run. */
  readonly date: string;
  /** By host. */
  readonly hosts: Readonly<Record<string, Row>>;
}

/** Applications that no test can start. */
const notRun: readonly (readonly [title: string, words: string])[] = [
  ['Cursor', 'not run: an application, answered as its maker documents'],
  ['Windsurf', 'not run: an application, without hooks of ours'],
];

const [begin, end] = ['<!-- hosts:begin -->', '<!-- hosts:end -->'];

export function renderTable({ date, hosts }: Table, all: readonly Pick<Driver, 'host' | 'title'>[] = drivers): string {
  const run = all.map(({ host, title }) => ({ title, version: hosts[host]?.version ?? '', cells: hosts[host]?.cells ?? {} }));
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const titles = [...run.map(({ title, version }) => `${title} ${version}`), ...notRun.map(([title]) => title)];
  return [
    `Run on ${date}, on Linux. A cell is judged by a file that the call would have written, or by what reached the model.`,
    '',
    line(['', ...titles]),
    line(['---', ...titles.map(() => '---')]),
    ...checkNames.map((name, at) =>
      line([
        checkTitles[name],
        ...run.map(({ cells }) => cells[name] ?? 'not run'),
        ...notRun.map(([, words]) => (at === 0 ? words : 'not run')),
      ]),
    ),
  ].join('\n');
}

/** The page with this between its two marks. */
export function replaceTable(page: string, table: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page must have ${begin} and after it ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`;
}

/** Missing and superfluous entries of the table, as messages. */
export function gapsIn({ hosts }: Table, all: readonly Driver[] = drivers): readonly string[] {
  const lacking = all.flatMap(({ host, package: { version } }) => [
    ...(hosts[host]?.version === version ? [] : [`${host} must be of version ${version}`]),
    ...checkNames.filter((name) => hosts[host]?.cells[name] === undefined).map((name) => `${host} ${name} is missing`),
  ]);
  const unknown = Object.entries(hosts).flatMap(([host, { cells }]) => [
    ...(all.some((driver) => driver.host === host) ? [] : [`${host} is not run`]),
    ...Object.keys(cells)
      .filter((name) => !isCheck(name))
      .map((name) => `${host} ${name} is no check`),
  ]);
  return [...lacking, ...unknown];
}

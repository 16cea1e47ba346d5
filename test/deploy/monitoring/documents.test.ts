// The documents describe the existing alerts.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { undecidedReasons } from '../../../sidecar/engine/conditions/values.ts';
import { alerts } from './rules.ts';

const folder = new URL('../../../docs/operate/alerts/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const pageOf = (alert: string): string => `${alert.toLowerCase()}.md`;

test('docs/operate/alerts/index.md lists every alert, with its severity, its time and its summary', () => {
  const [, table = ''] = /<!-- alerts -->\n([\s\S]*?)<!-- \/alerts -->/.exec(read('index.md')) ?? [];
  const rows = table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const wanted = alerts.map(({ alert, labels, annotations, for: after = 'at once' }) => [
    `[${alert}](${pageOf(alert)})`,
    labels['severity'],
    after,
    annotations['summary'],
  ]);
  expect(rows).toEqual(wanted);
});

test('docs/operate/alerts has a page for every alert, and no other page', () => {
  const pages = readdirSync(folder).filter((name) => name !== 'index.md');
  expect(pages.toSorted()).toEqual(alerts.map(({ alert }) => pageOf(alert)).toSorted());
});

test.each(alerts)('the page of $alert has its summary, severity and time, and what to do', ({ alert, labels, annotations, ...rule }) => {
  const text = read(pageOf(alert));
  const { for: after = 'at once' } = rule;
  expect(text.split('\n')[0]).toBe(`# ${alert}`);
  expect(text).toContain(`${annotations['summary']}. Severity: ${labels['severity']}; after: ${after}.`);
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['What it means', 'What users feel', 'How to look', 'What to do']);
});

test('the page about undecided conditions says what to do for every reason', () => {
  const rows = [...read('tollgateconditionsundecided.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, reason]) => reason);
  expect(rows).toEqual(undecidedReasons);
});

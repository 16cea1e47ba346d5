// The documents describe the existing alerts.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { alerts } from './rules.ts';

const read = (name: string): string => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

test('docs/telemetry.md lists every alert, with its severity, its time and its summary', () => {
  const [, table = ''] = /<!-- alerts -->\n([\s\S]*?)<!-- \/alerts -->/.exec(read('telemetry.md')) ?? [];
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
    `[${alert}](operations.md#${alert.toLowerCase()})`,
    labels['severity'],
    after,
    annotations['summary'],
  ]);
  expect(rows).toEqual(wanted);
});

test('docs/operations.md says for every alert what to do, and names no other', () => {
  const headings = [...read('operations.md').matchAll(/^#{2,4} (Tollgate[A-Z]\w+)$/gm)].map(([, name = '']) => name);
  expect(headings.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
});

// Puts what a bench saw into docs/performance.md: the table between `<!-- bench:name -->` and `<!-- /bench:name -->`, with the day and the
// machine. What stands around it is written by people.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Result } from './measure.ts';

const path = fileURLToPath(new URL('../../docs/performance.md', import.meta.url));

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 1024 ** 3)} GB, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`;

export function writeSeen(name: string, results: readonly Result[]): void {
  const text = readFileSync(path, 'utf8');
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  // What has a table by hand.
  if (from < 0) return console.log(`# docs/performance.md has no place for ${name}`);
  if (to < from) throw new Error(`docs/performance.md has no ${end}`);
  writeFileSync(path, `${text.slice(0, from + begin.length)}\n${tableOf(name, results)}\n${text.slice(to)}`);
}

const tableOf = (name: string, results: readonly Result[]): string =>
  [
    `Seen on ${new Date().toISOString().slice(0, 10)} by \`npm run bench -- ${name}\`: ${machine()} at the end.`,
    '',
    '| what | seen | against, in the same run | ratio | target |',
    '|---|---|---|---|---|',
    ...results.map(rowOf),
  ].join('\n');

const rowOf = ({ name, value, unit, baseline, ratio, target, ok, bound }: Result): string =>
  `| ${name} | ${value.toLocaleString('en')} ${unit} | ${baseline} | ${ok ? ratio : `**${ratio}**`} | ${bound === 'at most' ? '≤' : '≥'} ${Number(target.toPrecision(3))} |`;

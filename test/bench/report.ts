// Writes the results of a bench into docs/design/performance.md: the table between `<!-- bench:name -->` and
// `<!-- /bench:name -->`, with the day and the machine. People write the text around it.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Result } from './measure.ts';

const path = fileURLToPath(new URL('../../docs/design/performance.md', import.meta.url));

export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, ${Math.round(totalmem() / 1024 ** 3)} GB, Node ${process.version}, load ${loadavg()[0]?.toFixed(1)}`;

/** `again`: the results of a second run. */
export function writeSeen(name: string, results: readonly Result[], again: readonly Result[] | null): void {
  const text = readFileSync(path, 'utf8');
  const [begin, end] = [`<!-- bench:${name} -->`, `<!-- /bench:${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  // A bench whose table is written by hand.
  if (from < 0) return console.log(`# docs/design/performance.md has no place for ${name}`);
  if (to < from) throw new Error(`docs/design/performance.md has no ${end}`);
  writeFileSync(path, `${text.slice(0, from + begin.length)}\n${tableOf(name, results, again)}\n${text.slice(to)}`);
}

const tableOf = (name: string, results: readonly Result[], again: readonly Result[] | null): string =>
  [
    `Seen on ${new Date().toISOString().slice(0, 10)} by \`npm run bench -- ${name}\`: ${machine()} at the end.`,
    '',
    `| what | seen | against, in the same run | ratio |${again === null ? '' : ' second run |'} target |`,
    `|---|---|---|---|${again === null ? '' : '---|'}---|`,
    ...results.map((result) =>
      rowOf(result, again === null ? null : (again.find((one) => one.name === result.name) ?? null), again !== null),
    ),
  ].join('\n');

function rowOf({ name, value, unit, baseline, ratio, target, ok, bound }: Result, second: Result | null, isTwice: boolean): string {
  const shown = (of: number, isOk: boolean): string => (isOk ? `${of}` : `**${of}**`);
  const wanted = target === null ? 'for orientation' : `${bound === 'at most' ? '≤' : '≥'} ${Number(target.toPrecision(3))}`;
  const again = second === null ? 'none' : shown(second.ratio, second.ok);
  return `| ${name} | ${value.toLocaleString('en')} ${unit} | ${baseline} | ${shown(ratio, ok)} |${isTwice ? ` ${again} |` : ''} ${wanted} |`;
}

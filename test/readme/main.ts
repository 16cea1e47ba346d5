// `npm run readme:run`: runs every block of README.md, docs/doors/python.md and the pages of docs/guide, in order. Each page has one shell,
// in a copy of this checkout. `npm run readme:run -- docs/guide/envoy.md` runs that page alone. Its last line is
// `readme: N checks, M failed`; it exits with 1 where one failed and with 2 where it could not begin. `.ci/run` calls
// it too.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findPages, readPages } from './pages.ts';
import type { Check } from './run-blocks.ts';
import { runPage } from './run-page.ts';
import { findTakenPorts, makeScratch } from './scratch.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const { values, positionals } = parseArgs({ options: { 'limit-s': { type: 'string', default: '60' } }, allowPositionals: true });
process.exitCode = await main(positionals.length > 0 ? positionals : findPages(root), Number(values['limit-s']) * 1000);

async function main(names: readonly string[], limitMs: number): Promise<number> {
  if (!(limitMs > 0)) return refuse(['--limit-s must be a number of seconds above 0']);
  const { pages, problems } = readPages(root, names);
  if (problems.length > 0) return refuse(problems);
  const taken = await findTakenPorts(pages.flatMap(({ blocks }) => blocks));
  if (taken.length > 0)
    return refuse(taken.map((port) => `port ${port} of 127.0.0.1, which the pages use, is taken; end the program that listens there`));

  const stop = new AbortController();
  // npm forwards a Ctrl-C that the terminal has also sent here: the second signal must not end the cleanup.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const checks: Check[] = [];
  for (const page of pages) if (!stop.signal.aborted) checks.push(...(await runPage(page, makeScratch(root), limitMs, stop.signal)));
  const failed = checks.filter(({ problem }) => problem !== null).length;
  process.stdout.write(`readme: ${checks.length} checks, ${failed} failed\n`);
  return stop.signal.aborted ? 130 : failed > 0 ? 1 : 0;
}

function refuse(problems: readonly string[]): number {
  process.stdout.write(`${problems.join('\n')}\nreadme: ${problems.length} checks, ${problems.length} failed\n`);
  return 2;
}

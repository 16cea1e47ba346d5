// `npm run readme:run`: runs every block of README.md, docs/doors/python.md and the pages of docs/guide, in order. Each page has one shell,
// in a copy of this checkout. `npm run readme:run -- docs/guide/envoy.md` runs that page alone. Its last line is
// `readme: N checks, M failed`; it exits with 1 where one failed and with 2 where it could not begin. `.ci/run` calls
// it too.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findPages, type Page, readPages } from './pages.ts';
import { type Check, runBlocks } from './run-blocks.ts';
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
  for (const page of pages) if (!stop.signal.aborted) checks.push(...(await runPage(page, limitMs, stop.signal)));
  const failed = checks.filter(({ problem }) => problem !== null).length;
  process.stdout.write(`readme: ${checks.length} checks, ${failed} failed\n`);
  return stop.signal.aborted ? 130 : failed > 0 ? 1 : 0;
}

/** A page has a copy of the checkout and a shell for itself, so that it works without any other page. */
async function runPage({ name, blocks }: Page, limitMs: number, signal: AbortSignal): Promise<readonly Check[]> {
  const scratch = makeScratch(root);
  try {
    for (const block of blocks)
      if (block.kind === 'no-run') process.stdout.write(`not run          ${name} line ${block.line}: ${block.reason}\n`);
    let begun = performance.now();
    const onCheck = (check: Check): void => {
      show(name, check, performance.now() - begun, scratch.folder);
      begun = performance.now();
    };
    return await runBlocks(blocks, { ...scratch, limitMs, signal, onCheck });
  } finally {
    scratch.remove();
  }
}

function refuse(problems: readonly string[]): number {
  process.stdout.write(`${problems.join('\n')}\nreadme: ${problems.length} checks, ${problems.length} failed\n`);
  return 2;
}

function show(page: string, { line, title, problem, output }: Check, tookMs: number, folder: string): void {
  const result = problem === null ? 'ok     ' : 'FAILED ';
  process.stdout.write(`${result} ${(tookMs / 1000).toFixed(1).padStart(5)} s  ${page} line ${line}: ${title}\n`);
  if (problem === null) return;
  process.stdout.write(`  ${problem}\n`);
  if (output === '' && problem.startsWith('was not')) return;
  process.stdout.write(`--- the block printed\n${lastLines(output)}\n`);
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.log')))
    process.stdout.write(`--- ${name}\n${lastLines(readFileSync(join(folder, name), 'utf8'))}\n`);
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-20).join('\n');
}

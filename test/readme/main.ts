// `npm run readme:run`: runs every block of README.md, in order, in one shell, in a copy of this checkout. Its last
// line is `readme: N checks, M failed`; it exits with 1 where one failed and with 2 where it could not begin. `.ci/run`
// calls it too.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readBlocks } from './blocks.ts';
import { type Check, runBlocks } from './run-blocks.ts';
import { findTakenPorts, makeScratch } from './scratch.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const { values } = parseArgs({
  options: { readme: { type: 'string', default: join(root, 'README.md') }, 'limit-s': { type: 'string', default: '60' } },
});
process.exitCode = await main(values.readme, Number(values['limit-s']) * 1000);

async function main(readme: string, limitMs: number): Promise<number> {
  if (!(limitMs > 0)) return refuse(['--limit-s must be a number of seconds above 0']);
  const { blocks, problems } = readBlocks(readFileSync(readme, 'utf8'));
  if (problems.length > 0) return refuse(problems);
  const taken = await findTakenPorts(blocks);
  if (taken.length > 0)
    return refuse(taken.map((port) => `port ${port} of 127.0.0.1, which README uses, is taken; end the program that listens there`));

  const stop = new AbortController();
  // npm forwards a Ctrl-C that the terminal has also sent here: the second signal must not end the cleanup.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort());
  const scratch = makeScratch(root);
  try {
    for (const block of blocks) if (block.kind === 'no-run') process.stdout.write(`not run          line ${block.line}: ${block.reason}\n`);
    let begun = performance.now();
    const onCheck = (check: Check): void => {
      show(check, performance.now() - begun, scratch.folder);
      begun = performance.now();
    };
    const checks = await runBlocks(blocks, { ...scratch, limitMs, signal: stop.signal, onCheck });
    const failed = checks.filter(({ problem }) => problem !== null).length;
    process.stdout.write(`readme: ${checks.length} checks, ${failed} failed\n`);
    return stop.signal.aborted ? 130 : failed > 0 ? 1 : 0;
  } finally {
    scratch.remove();
  }
}

function refuse(problems: readonly string[]): number {
  process.stdout.write(`${problems.join('\n')}\nreadme: ${problems.length} checks, ${problems.length} failed\n`);
  return 2;
}

function show({ line, title, problem, output }: Check, tookMs: number, folder: string): void {
  process.stdout.write(`${problem === null ? 'ok     ' : 'FAILED '} ${(tookMs / 1000).toFixed(1).padStart(5)} s  line ${line}: ${title}\n`);
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

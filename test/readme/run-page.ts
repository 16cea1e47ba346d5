// Runs one page in a folder and prints the result of each block. Called by `main.ts`, and by test/release/main.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from './pages.ts';
import { type Check, runBlocks } from './run-blocks.ts';
import type { Scratch } from './scratch.ts';

/** A page has a folder and a shell for itself, so that it works without any other page. Removes the folder. */
export async function runPage({ name, blocks }: Page, scratch: Scratch, limitMs: number, signal: AbortSignal): Promise<readonly Check[]> {
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

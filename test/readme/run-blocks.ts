// Runs the blocks of a page in order and reports for each whether it does what the page says. The first failure ends the
// run, because later blocks depend on earlier ones. Called by `main.ts`.
import type { Block } from './blocks.ts';
import { checkTypes } from './check-types.ts';
import { expectedOfShell, findMissing, readConsole } from './expected.ts';
import { createShell, type Outcome, type Shell, type ShellConfig } from './shell.ts';

export interface Check extends Outcome {
  /** The block's first line of text in the page. */
  readonly line: number;
  readonly title: string;
}

export interface Running extends ShellConfig {
  /** Ends the running block, which then fails. */
  readonly signal: AbortSignal;
  readonly onCheck: (check: Check) => void;
}

const notReached = 'was not reached';

/** One check for each block, except those of text and those marked no-run; `onCheck` receives each result. */
export async function runBlocks(blocks: readonly Block[], { signal, onCheck, ...config }: Running): Promise<readonly Check[]> {
  const shell = createShell(config);
  const end = (): void => void shell.close();
  signal.addEventListener('abort', end);
  const checks: Check[] = [];
  const decide = (block: Block, outcome: Outcome): void => {
    const stopped = signal.aborted && outcome.problem !== notReached ? { problem: 'was stopped' } : {};
    const check = { line: block.line, title: titleOf(block), ...outcome, ...stopped };
    checks.push(check);
    onCheck(check);
  };
  const staying: { readonly block: Block; readonly isAlive: () => Promise<Outcome> }[] = [];
  try {
    for (const [at, block] of blocks.entries()) {
      if (block.kind === 'text' || block.kind === 'no-run') continue;
      const failed = checks.some(({ problem }) => problem !== null) || signal.aborted;
      if (failed) decide(block, { problem: notReached, output: '' });
      else if (block.kind === 'shell' && block.inBackground)
        staying.push({ block, isAlive: await shell.runInBackground(block.text, block.line) });
      else decide(block, await runBlock(shell, block, blocks.slice(0, at), config));
    }
    for (const { block, isAlive } of staying)
      decide(
        block,
        checks.some(({ problem }) => problem !== null) ? { problem: 'was not asked whether it stays', output: '' } : await isAlive(),
      );
    if (!signal.aborted && checks.every(({ problem }) => problem === null)) {
      const problem = await shell.findEnded();
      if (problem !== null) {
        const check = { line: Number(/^line (\d+)/.exec(problem)?.[1] ?? 0), title: 'programs started with &', problem, output: '' };
        checks.push(check);
        onCheck(check);
      }
    }
  } finally {
    signal.removeEventListener('abort', end);
    await shell.close();
  }
  return checks;
}

async function runBlock(shell: Shell, block: Block, before: readonly Block[], config: ShellConfig): Promise<Outcome> {
  switch (block.kind) {
    case 'shell':
      return compare(await shell.run(block.text, block.line), expectedOfShell(block.text));
    case 'console': {
      const { commands, expected } = readConsole(block.text);
      return compare(await shell.run(commands, block.line), expected);
    }
    case 'typescript':
      return checkTypes(
        [...before, block].filter((one) => one.kind === 'typescript' && one.file === block.file),
        block.file,
        config,
      );
    default:
      throw new Error(`a block of kind ${block.kind} is never run`);
  }
}

function compare(outcome: Outcome, expected: readonly string[]): Outcome {
  const missing = outcome.problem === null ? findMissing(expected, outcome.output) : null;
  return missing === null
    ? outcome
    : { ...outcome, problem: `the page shows the answer \`${missing}\`, and the block printed no such line` };
}

const titleOf = (block: Block): string =>
  block.kind === 'typescript' ? block.file : (block.text.split('\n').find((line) => line.trim() !== '') ?? '').slice(0, 100);

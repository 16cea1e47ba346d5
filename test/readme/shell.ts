// One bash process for all blocks of a page, so that a variable or function of one block exists in the next. A block
// that fails, ends the shell or exceeds its time limit is reported with line and command. `close` ends every program
// that the blocks started. Called by `run-blocks.ts`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endPrograms } from './end-programs.ts';

export interface ShellConfig {
  /** The folder where the blocks run; programs that work in it count as theirs. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
}

/** `problem` is null where every command of the block succeeded in time. */
export interface Outcome {
  readonly problem: string | null;
  readonly output: string;
}

export interface Shell {
  run(commands: string, firstLine: number): Promise<Outcome>;
  /**
   * Returns immediately; the returned function, called at the end of the page, reports whether the commands still run.
   */
  runInBackground(commands: string, firstLine: number): Promise<() => Promise<Outcome>>;
  /** At the end of the page: a program that a block started with `&` and that has ended, or null. */
  findEnded(): Promise<string | null>;
  close(): Promise<void>;
}

/** What the shell reports for a block, `ended` for one in the background; or what is detected from outside. */
type Answer = 'done' | 'ended' | 'late' | 'shell ended';

const program = fileURLToPath(new URL('shell.sh', import.meta.url));

export function createShell({ folder, env, limitMs }: ShellConfig): Shell {
  const state = mkdtempSync(join(tmpdir(), 'tollgate-readme-shell-'));
  const bash = spawn('bash', [program, state], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'], detached: true });
  const answers = createInterface({ input: bash.stdout })[Symbol.asyncIterator]();
  // A write to a shell that has ended is detected by the missing answer.
  bash.stdin.on('error', () => {});
  const ended = once(bash, 'exit');
  let count = 0;
  let closing: Promise<void> | null = null;

  const read = (name: string): string => {
    try {
      return readFileSync(join(state, name), 'utf8');
    } catch {
      return '';
    }
  };
  const ask = async (kind: string, name: string): Promise<Answer> => {
    bash.stdin.write(`${kind}\t${join(state, name)}.sh\t${join(state, name)}.out\n`);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Answer>((resolve) => {
      timer = setTimeout(resolve, limitMs, 'late');
    });
    const answer = answers.next().then(({ value, done }): Answer => (done === true ? 'shell ended' : value === 'done' ? 'done' : 'ended'));
    const first = await Promise.race([answer, late]);
    clearTimeout(timer);
    return first;
  };
  const keep = (commands: string, firstLine: number): string => {
    const name = `block-${(count += 1)}`;
    writeFileSync(join(state, `${name}.sh`), `${'\n'.repeat(firstLine - 1)}${commands}\n`);
    return name;
  };
  const problemOf = (answer: Answer, name: string): string | null => {
    // A failure within `$(…)` or a program that has ended does not end the shell.
    if (answer === 'done') return lastFailure(read(`${name}.out.failures`));
    if (answer === 'late') return `${lastTraced(read('trace'))} has not ended after ${limitMs / 1000} s`;
    return lastFailure(read(`${name}.out.failures`)) ?? 'the block ended the shell; leave out its exit';
  };

  return {
    async run(commands, firstLine) {
      const name = keep(commands, firstLine);
      const problem = problemOf(await ask('shell', name), name);
      return { problem, output: read(`${name}.out`) };
    },
    async runInBackground(commands, firstLine) {
      const name = keep(commands, firstLine);
      await ask('background', name);
      return async () => {
        const answer = await ask('alive', name);
        // A failure is recorded before the program ends, and the shell may detect its end later.
        const failure = lastFailure(read(`${name}.out.failures`));
        const problem = failure ?? (answer === 'done' ? null : 'the program has ended; a background block must stay');
        return { problem, output: read(`${name}.out`) };
      };
    },
    async findEnded() {
      const name = `block-${(count += 1)}`;
      return problemOf(await ask('programs', name), name);
    },
    close: () => (closing ??= close()),
  };

  async function close(): Promise<void> {
    bash.stdin.end();
    await endPrograms(bash.pid ?? 0, folder);
    await ended;
    rmSync(state, { recursive: true, force: true });
  }
}

function lastFailure(failures: string): string | null {
  const [line, code, command] = failures.trimEnd().split('\n').at(-1)?.split('\t') ?? [];
  if (command !== undefined && code === 'program')
    return `line ${line}: \`${command} &\` has ended; it must stay, or the page must end it by kill or wait for it`;
  return command === undefined ? null : `line ${line}: \`${command}\` ended with ${code}`;
}

function lastTraced(trace: string): string {
  const [, line, command] = [...trace.matchAll(/^r+eadme:(\d+): (.*)$/gm)].at(-1) ?? [];
  return `line ${line ?? '?'}: \`${command ?? '?'}\``;
}

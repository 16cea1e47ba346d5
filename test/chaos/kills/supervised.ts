// A program that is killed and restarted, as under a supervisor: a launch that ends because a dependency is away is
// repeated until it stays up.
// States: down → starting (one launch after the other) → up (`current`) → killed: down. A kill during the start kills
// that launch.
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../../support/programs.ts';

export interface SupervisedProgram<P extends Program = Program> {
  readonly name: string;
  /** Null while it is down or starting. */
  readonly current: P | null;
  /** How often a launch ended before it was up. */
  readonly failedStarts: number;
  /** Exit codes of processes that ended without a kill or a request to end. */
  readonly endedAlone: readonly (number | null)[];
  /** Resolves once it is up; also where it was killed meanwhile. */
  start(): Promise<void>;
  kill(): Promise<void>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Requests its end; resolves with its exit code. */
  end(): Promise<number | null>;
}

interface Supervision<P> {
  readonly launch: (kill: AbortSignal) => Promise<P>;
  /** The file that receives the output of its processes. */
  readonly logFile: string;
}

const retryMs = 100;

export function supervise<P extends Program>(name: string, { launch, logFile }: Supervision<P>): SupervisedProgram<P> {
  let current: P | null = null;
  let failedStarts = 0;
  const endedAlone: (number | null)[] = [];
  let killing = new AbortController();
  let starting: Promise<void> | null = null;
  const keepLog = (log: string): void => appendFileSync(logFile, `${log}\n---- ended ----\n`);

  const watch = (program: P): void => {
    current = program;
    void program.exit.then((code) => {
      if (current !== program) return;
      endedAlone.push(code);
      current = null;
      keepLog(program.log());
    });
  };
  const run = async (kill: AbortSignal): Promise<void> => {
    while (!kill.aborted && current === null) {
      try {
        const program = await launch(kill);
        if (kill.aborted) await program.end('SIGKILL');
        else watch(program);
      } catch (error) {
        keepLog(String(error));
        if (kill.aborted) return;
        failedStarts += 1;
        await delay(retryMs);
      }
    }
  };
  return {
    name,
    get current() {
      return current;
    },
    get failedStarts() {
      return failedStarts;
    },
    endedAlone,
    start: async () => {
      killing = new AbortController();
      starting = run(killing.signal);
      await starting;
    },
    kill: async () => {
      killing.abort();
      const program = current;
      current = null;
      await program?.end('SIGKILL');
      await starting;
      if (program !== null) keepLog(program.log());
    },
    signal: (signal) => current?.signal(signal),
    end: async () => {
      const program = current;
      current = null;
      const code = (await program?.end()) ?? null;
      if (program !== null) keepLog(program.log());
      return code;
    },
  };
}

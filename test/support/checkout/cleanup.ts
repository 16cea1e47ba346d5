// Undoes steps at the end, also after a failure or Ctrl-C: the last added first, each once. Filled by check-out.ts,
// build.ts and code that starts programs; run by the command.

export interface Cleanup {
  add(undo: () => void | Promise<void>): void;
  /** Undoes everything, even where a step fails; resolves to the messages of the steps that failed. */
  run(): Promise<readonly string[]>;
}

export function createCleanup(): Cleanup {
  const steps: (() => void | Promise<void>)[] = [];
  let running: Promise<readonly string[]> | null = null;
  const undoAll = async (): Promise<readonly string[]> => {
    const problems: string[] = [];
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await step();
      } catch (error) {
        problems.push(error instanceof Error ? error.message : String(error));
      }
    }
    return problems;
  };
  return {
    add: (undo) => void steps.push(undo),
    run() {
      // A signal may arrive while the cleanup is already running.
      running ??= undoAll().finally(() => {
        running = null;
      });
      return running;
    },
  };
}

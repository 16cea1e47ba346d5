// Everything the demo starts, and how it is undone: whatever happens, `close` leaves nothing running and no file behind.
// A step is registered before the thing it undoes is started, so that Ctrl-C in between misses nothing.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface Stage {
  /** A temporary folder, removed last. */
  readonly folder: string;
  /** The last lines of each program's log, for the failure that has to be explained. */
  readonly logs: Map<string, string[]>;
  /** Registers how something is undone. Throws once the stage is being closed: then nothing may be started any more. */
  undo(step: () => unknown): void;
  /** Ends the demo with this error, if it is the first. */
  fail(error: unknown): void;
  /** Aborted with what `fail` was told. */
  readonly signal: AbortSignal;
  /** Rejects with the same; never resolves. */
  readonly failure: Promise<never>;
  /** Undoes everything, last first. Answers what went wrong with it. */
  close(): Promise<readonly unknown[]>;
}

export function createStage(): Stage {
  const steps: (() => unknown)[] = [];
  let closing = false;
  const failing = new AbortController();
  const { signal } = failing;
  const failure = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  // The stage may fail when no caller waits for it any more.
  failure.catch(() => undefined);
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-demo-'));
  steps.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  return {
    folder,
    logs: new Map(),
    undo: (step) => {
      if (closing) throw new Interrupted('the demo is ending');
      steps.push(step);
    },
    fail: (error) => failing.abort(error),
    signal,
    failure,
    close: async () => {
      closing = true;
      const problems: unknown[] = [];
      for (const step of steps.splice(0).reverse()) {
        try {
          await step();
        } catch (error) {
          problems.push(error);
        }
      }
      return problems;
    },
  };
}

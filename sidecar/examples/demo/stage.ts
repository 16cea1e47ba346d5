// Collects everything that the demo starts, and the steps that undo it. After `close`, nothing is running and no file
// is left. A step is registered before the thing that it undoes is started, so even Ctrl-C between the two leaves
// nothing behind.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

export interface Stage {
  /** A temporary folder. It is removed last. */
  readonly folder: string;
  /** The last lines of each program's log. They are printed when the demo fails. */
  readonly logs: Map<string, string[]>;
  /**
   * Registers a step that undoes something. Throws when the stage is being closed, because nothing may be started any
   * more.
   */
  undo(step: () => unknown): void;
  /** Ends the demo with this error. Only the first call has an effect. */
  fail(error: unknown): void;
  /** Aborted by `fail`, with the error of `fail` as its reason. */
  readonly signal: AbortSignal;
  /** Rejects with the error of `fail`. Never resolves. */
  readonly failure: Promise<never>;
  /** Undoes everything, the last step first. Returns the errors of these steps. */
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
  // Prevents an unhandled rejection: the stage may fail when no caller waits for `failure` any more.
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

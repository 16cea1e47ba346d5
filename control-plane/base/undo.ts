// Undoes a start. Every step runs, in reverse order, even if earlier steps fail.
import { loggable } from './loggable.ts';

export type Undo = (() => Promise<unknown> | void)[];

/** Steps that fail are logged. */
export async function undoAll(steps: Undo, log: { error(fields: object, message: string): void }): Promise<void> {
  for (const step of steps.toReversed()) {
    try {
      await step();
    } catch (error) {
      log.error(loggable(error), 'a shutdown step failed; the shutdown continues');
    }
  }
}

// Runs synchronous code that may never end, such as a check by a third party's schema or pattern. The code blocks this
// process's only thread for at most `ms`. Then it is interrupted.
import { type Context, createContext, Script } from 'node:vm';

/**
 * Throws what `work` throws, or Node's `ERR_SCRIPT_EXECUTION_TIMEOUT`. `work` can be interrupted at any point, so it
 * must not leave shared state incomplete.
 */
export type WithinMs = <T>(ms: number, work: () => T) => T;

export function createTimeBound(): WithinMs {
  const script = new Script('work()');
  const hold: { work: (() => void) | null } = { work: null };
  const context: Context = createContext(hold);
  return (ms, work) => {
    const done: { value?: ReturnType<typeof work> } = {};
    hold.work = () => {
      done.value = work();
    };
    try {
      script.runInContext(context, { timeout: ms });
    } finally {
      hold.work = null;
    }
    if (!('value' in done)) throw new Error('the script must run the function "work" to its end, but no result of "work" is stored');
    return done.value;
  };
}

// Runs code that cannot wait but may never end: what a stranger's schema makes of it, or a stranger's pattern. It holds
// this process's only thread for at most so long, and then it is stopped in the middle.
import { type Context, createContext, Script } from 'node:vm';

/** Throws what `work` throws, or Node's ERR_SCRIPT_EXECUTION_TIMEOUT. `work` must leave nothing half done that is used again. */
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
    if (!('value' in done)) throw new Error('the work was not done');
    return done.value;
  };
}

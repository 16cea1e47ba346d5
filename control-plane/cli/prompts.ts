// Asks the person at the terminal. The library is loaded when there is something to ask.
import type { Readable, Writable } from 'node:stream';
import { Failure } from './failure.ts';
import type { Prompts } from './world.ts';

export function createPrompts(input: Readable, output: Writable): Prompts {
  const streams = { input, output };
  return {
    secret: async (message) => {
      const { password } = await import('@clack/prompts');
      // Not even its length is shown.
      return answered(await password({ message, mask: '', ...streams }));
    },
    text: async (message) => {
      const { text } = await import('@clack/prompts');
      return answered(await text({ message, ...streams }));
    },
    confirm: async (message) => {
      const { confirm } = await import('@clack/prompts');
      return answered(await confirm({ message, initialValue: false, ...streams }));
    },
  };
}

/** The library answers a symbol to Ctrl-C. */
function answered<T>(answer: T): Exclude<T, symbol> {
  if (typeof answer === 'symbol') throw new Failure('nothing is done');
  return answer as Exclude<T, symbol>;
}

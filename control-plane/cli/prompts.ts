// Asks the person at the terminal. The library is loaded when there is something to ask. Who leaves, by Ctrl-C, Esc,
// Ctrl-D or with the terminal, has answered nothing, and nothing is done.
import { type Readable, Writable } from 'node:stream';
import { Failure } from './failure.ts';
import type { Prompts } from './world.ts';

interface Asking {
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
}

export function createPrompts(input: Readable, output: Writable): Prompts {
  const ask = <T>(prompt: (asking: Asking) => Promise<T>): Promise<Exclude<T, symbol>> => answered(input, withWidth(output), prompt);
  return {
    secret: async (message) => {
      const { password } = await import('@clack/prompts');
      // Not even its length is shown.
      return ask((asking) => password({ message, mask: '', ...asking }));
    },
    text: async (message) => {
      const { text } = await import('@clack/prompts');
      return ask((asking) => text({ message, ...asking }));
    },
    confirm: async (message) => {
      const { confirm } = await import('@clack/prompts');
      return ask((asking) => confirm({ message, initialValue: false, ...asking }));
    },
  };
}

/** The library answers a symbol to Ctrl-C and to the signal; Ctrl-D and an end it does not hear of. */
async function answered<T>(input: Readable, output: Writable, prompt: (asking: Asking) => Promise<T>): Promise<Exclude<T, symbol>> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const press = (_text: unknown, key: { readonly ctrl?: boolean; readonly name?: string }): void => {
    if (key.ctrl === true && key.name === 'd') leave();
  };
  const ends = ['end', 'close'] as const;
  for (const end of ends) input.once(end, leave);
  input.on('keypress', press);
  try {
    if (input.readableEnded || input.destroyed) leave();
    const answer = await prompt({ input, output, signal: left.signal });
    if (typeof answer === 'symbol') throw new Failure('nothing is done');
    return answer as Exclude<T, symbol>;
  } finally {
    for (const end of ends) input.off(end, leave);
    input.off('keypress', press);
  }
}

/** A terminal that says it has no columns would be wrapped at every character; without a number the library takes 80. */
function withWidth(output: Writable): Writable {
  if (!('columns' in output) || output.columns !== 0) return output;
  return new Writable({ decodeStrings: false, write: (chunk, _encoding, done) => void output.write(chunk, done) });
}

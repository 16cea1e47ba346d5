// Asks the user at the terminal. The library is imported only when there is a question. If the user leaves with Ctrl-C,
// Esc or Ctrl-D, or the terminal closes, a Failure is thrown, and the command does nothing.
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
      // The empty mask also hides the length of the secret.
      return ask((asking) => password({ message, mask: '', ...asking }));
    },
    text: async (message) => {
      const { text } = await import('@clack/prompts');
      return ask((asking) => text({ message, ...asking }));
    },
    // The library has a question with the choices Yes and No, where a space or a line feed moves from No to Yes.
    confirm: async (message, about = []) => {
      const { text } = await import('@clack/prompts');
      const answer = await ask((asking) => text({ message: [`${message} [y/N]`, ...about].join('\n'), ...asking }));
      return /^\s*y(?:es)?\s*$/i.test(answer);
    },
  };
}

/**
 * Returns the answer, or throws a Failure if the user leaves. The library returns a symbol for Ctrl-C and for an
 * aborted signal. It does not detect Ctrl-D and the end of the input, so this function detects them. A line feed, which is
 * what Enter sends before the library has changed the mode of the terminal, ends the answer as Enter does.
 */
async function answered<T>(input: Readable, output: Writable, prompt: (asking: Asking) => Promise<T>): Promise<Exclude<T, symbol>> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const press = (_text: unknown, key: { readonly ctrl?: boolean; name?: string }): void => {
    if (key.ctrl === true && key.name === 'd') leave();
    // All listeners get this object, and this one is the first.
    if (key.name === 'enter') key.name = 'return';
  };
  const ends = ['end', 'close'] as const;
  for (const end of ends) input.once(end, leave);
  input.on('keypress', press);
  try {
    if (input.readableEnded || input.destroyed) leave();
    const answer = await prompt({ input, output, signal: left.signal });
    if (typeof answer === 'symbol') throw new Failure('no answer was given; nothing was changed');
    return answer as Exclude<T, symbol>;
  } finally {
    for (const end of ends) input.off(end, leave);
    input.off('keypress', press);
  }
}

/**
 * For a terminal that reports 0 columns, the library would wrap after every character. This function hides the number,
 * and then the library uses 80.
 */
function withWidth(output: Writable): Writable {
  if (!('columns' in output) || output.columns !== 0) return output;
  return new Writable({ decodeStrings: false, write: (chunk, _encoding, done) => void output.write(chunk, done) });
}

// The questions at a terminal, by the keys a person presses.
import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createPrompts } from '../../control-plane/cli/prompts.ts';

function terminal(columns = 80) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  let shown = '';
  let look = (): void => undefined;
  const output = Object.assign(
    new Writable({
      decodeStrings: false,
      write: (chunk: string, _encoding, done) => {
        shown += chunk;
        look();
        done();
      },
    }),
    { isTTY: true, columns },
  );
  /** Resolves once the question stands there, with all its words in a row. */
  const asked = (words: string): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (shown.includes(words)) resolve();
      };
      look();
    });
  return { input, asked, prompts: createPrompts(input, output) };
}

test.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
  ['Ctrl-D behind some text', 'gsk\u0004'],
])('%s leaves every question with nothing done', async (_what, keys) => {
  for (const kind of ['secret', 'text', 'confirm'] as const) {
    const { input, asked, prompts } = terminal();
    const answer = prompts[kind]('What is it');
    await asked('What is it');
    input.write(keys);
    await expect(answer).rejects.toThrow('nothing is done');
  }
});

test('a terminal that goes away leaves the question, before it is asked too', async () => {
  const { input, asked, prompts } = terminal();
  const answer = prompts.confirm('Apply this');
  await asked('Apply this');
  input.end();
  await expect(answer).rejects.toThrow('nothing is done');
  await expect(prompts.confirm('Again')).rejects.toThrow('nothing is done');
});

test('an answer is an answer, and nobody listens any more', async () => {
  const { input, asked, prompts } = terminal();
  const answer = prompts.text('Its slug again');
  await asked('Its slug again');
  input.write('acme\r');
  expect(await answer).toBe('acme');
  expect(['end', 'close', 'keypress'].map((name) => input.listenerCount(name))).toEqual([0, 0, 0]);
});

test('a terminal that says it has no columns is written to as one of 80', async () => {
  const { input, asked, prompts } = terminal(0);
  const answer = prompts.text('Everything is removed');
  await asked('Everything is removed');
  input.write('x\r');
  expect(await answer).toBe('x');
});

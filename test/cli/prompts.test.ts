// The questions at a terminal, answered with the keys that a person presses.
import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createPrompts } from '../../cli/prompts.ts';

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
  /** Resolves once the whole question is printed. */
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
])('%s cancels every question and changes nothing', async (_what, keys) => {
  for (const kind of ['secret', 'text', 'confirm'] as const) {
    const { input, asked, prompts } = terminal();
    const answer = prompts[kind]('What is it');
    await asked('What is it');
    input.write(keys);
    await expect(answer).rejects.toThrow('no answer was given; nothing was changed');
  }
});

test('a terminal that closes cancels the question, also before it is asked', async () => {
  const { input, asked, prompts } = terminal();
  const answer = prompts.confirm('Apply this');
  await asked('Apply this');
  input.end();
  await expect(answer).rejects.toThrow('no answer was given; nothing was changed');
  await expect(prompts.confirm('Again')).rejects.toThrow('no answer was given; nothing was changed');
});

test.each([
  ['Enter', '\r', false],
  ['a line feed', '\n', false],
  ['a space and a line feed', ' \n', false],
  ['an arrow and Enter', '\u001b[D\r', false],
  ['n', 'n\r', false],
  ['another word', 'yet\r', false],
  ['y and Enter', 'y\r', true],
  ['Yes and a line feed', 'Yes\n', true],
])('%s answers a question of yes or no: only y is yes', async (_what, keys, yes) => {
  const { input, asked, prompts } = terminal();
  const answer = prompts.confirm('approve a1?', ['| payments.send']);
  await asked('approve a1? [y/N]\n| payments.send');
  input.write(keys);
  expect(await answer).toBe(yes);
});

test('after the answer no listener is left', async () => {
  const { input, asked, prompts } = terminal();
  const answer = prompts.text('Its slug again');
  await asked('Its slug again');
  input.write('acme\r');
  expect(await answer).toBe('acme');
  expect(['end', 'close', 'keypress'].map((name) => input.listenerCount(name))).toEqual([0, 0, 0]);
});

test('a terminal that reports no columns is treated as one of 80', async () => {
  const { input, asked, prompts } = terminal(0);
  const answer = prompts.text('Everything is removed');
  await asked('Everything is removed');
  input.write('x\r');
  expect(await answer).toBe('x');
});

import { expect, test } from 'vitest';
import { LineTooLong, linesOf } from '../../../sidecar/upstream/lines.ts';

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
async function read(bytesMax: number, ...texts: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(pieces(...texts), bytesMax)) lines.push(Buffer.from(line).toString());
  return lines;
}

test.each<readonly [string, readonly string[], readonly string[]]>([
  ['several in one piece', ['a\nb\n'], ['a', 'b']],
  ['one in several pieces', ['a', 'b', 'c\n'], ['abc']],
  ['an end at the edge of a piece', ['ab', '\ncd\n'], ['ab', 'cd']],
  ['blank ones are left out', ['\n \t\r\na\n\n'], ['a']],
  ['the end of Windows stays, as blank JSON', ['a\r\n'], ['a\r']],
  ['what has no end is no line', ['a\nb'], ['a']],
])('%s', async (_what, texts, lines) => {
  expect(await read(100, ...texts)).toEqual(lines);
});

test('a letter that is split between two pieces is whole in the line', async () => {
  const bytes = Buffer.from('é\n');
  async function* cut(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 1);
    yield bytes.subarray(1);
  }
  const lines = [];
  for await (const line of linesOf(cut(), 10)) lines.push(Buffer.from(line).toString());
  expect(lines).toEqual(['é']);
});

test('a line of the maximum length passes, one byte more ends the reading, with or without its end', async () => {
  expect(await read(4, 'abcd\n')).toEqual(['abcd']);
  await expect(read(4, 'abcde\n')).rejects.toThrow(LineTooLong);
  await expect(read(4, 'ab', 'cde')).rejects.toThrow(LineTooLong);
  await expect(read(4, 'a\n', 'bc', 'def\n')).rejects.toThrow(LineTooLong);
});

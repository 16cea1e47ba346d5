import { expect, test } from 'vitest';
import { readBlocks } from './blocks.ts';

const block = (info: string, text = 'true'): string => `\`\`\`${info}\n${text}\n\`\`\`\n`;

test('blocks are returned in order, with the line of their text and how they are run', () => {
  const readme = `# Title\n\n${block('sh', 'echo 1\necho 2')}Prose.\n${block('ts agent.ts', 'export {};')}${block('text')}${block('sh background')}`;
  expect(readBlocks('README.md', readme)).toEqual({
    blocks: [
      { kind: 'shell', line: 4, text: 'echo 1\necho 2', inBackground: false },
      { kind: 'typescript', line: 9, text: 'export {};', file: 'agent.ts' },
      { kind: 'text', line: 12, text: 'true' },
      { kind: 'shell', line: 15, text: 'true', inBackground: true },
    ],
    problems: [],
  });
});

test.each([
  ['an unknown info string', block('bash'), 'README.md line 1: the block has the info string "bash"; known are "sh", '],
  ['an unknown mark of a shell block', block('sh later'), 'README.md line 1: the block has the info string "sh later"; known are '],
  ['a block without an info string', block(''), 'README.md line 1: the block has no info string; known are '],
  ['TypeScript without a file', block('ts'), 'README.md line 1: the block has the info string "ts"; known are '],
  ['no-run without a reason', block('sh no-run'), 'README.md line 1: the block is marked no-run without a reason; write '],
  ['no-run with an empty reason', block('sh no-run:  '), 'README.md line 1: the block is marked no-run without a reason; write '],
  ['console output without a command', block('console', 'id name'), 'README.md line 1: the block is marked console and does not begin '],
  [
    'a block within a list',
    '- a point\n\n  ```sh\n  true\n  ```\n',
    'README.md line 3: the block is indented and would not be run; begin its ',
  ],
  ['a block behind the mark of a point', '1. ```sh\n   true\n   ```\n', 'README.md line 1: the block is indented and would not be run; '],
  ['a block within a quote', '> ```sh\n> true\n> ```\n', 'README.md line 1: the block is indented and would not be run; '],
  ['&&', block('sh', 'true\ntest -f "a b" && echo never'), 'README.md line 3: the command has `&&`, which hides '],
  ['&& in a console block', block('console', '$ false && true'), 'README.md line 2: the command has `&&`, which hides '],
  ['a command in export', block('sh', 'export A=1 X=$(false)'), 'README.md line 2: the command has `export NAME=$(…)`, which hides '],
  [
    'a quoted command in export',
    block('sh', 'export X="a $(false)"'),
    'README.md line 2: the command has `export NAME=$(…)`, which hides ',
  ],
  ['a process substitution', block('sh', 'cat <(false)'), 'README.md line 2: the command has `<(…)`, which hides '],
  ['a block that is never closed', '\n```sh\ntrue\n', 'README.md line 2: the block is never closed'],
])('%s is an error', (_name, readme, problem) => {
  const { problems } = readBlocks('README.md', readme);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(problem);
});

test('text in quotes, in a comment or in a here-document is not a command', () => {
  const text = [
    'echo \'a && b\' "c && <(d)" # e && f',
    "cat > file <<'EOF'\na && b <(c)\nEOF",
    'X=$(true); export X Y=1',
    'auth "$API/a?b=c&d=e" <<<"$KEY"',
    'echo $((1 << 2)) || [ $? = 2 ]',
  ].join('\n');
  expect(readBlocks('README.md', block('sh', text)).problems).toEqual([]);
  expect(readBlocks('README.md', block('sh', `${text}\ntrue && true`)).problems).toEqual([expect.stringContaining('README.md line 9: ')]);
  expect(readBlocks('README.md', block('sh no-run: needs a cluster', 'a && b')).problems).toEqual([]);
});

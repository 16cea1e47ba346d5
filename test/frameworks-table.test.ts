// The table of docs/doors/typescript-frameworks.md says what is tested: its versions are those that are installed, and
// each of its columns is a test of test/frameworks/cells.test.ts, which runs for every framework.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');
const packages = ['ai', '@anthropic-ai/claude-agent-sdk', 'langchain', '@mastra/core', '@openai/agents'];
const files: ReadonlyMap<string, string> = new Map([
  ['AI SDK', 'ai-sdk'],
  ['Claude Agent SDK', 'claude-agent-sdk'],
  ['LangChain.js', 'langchain'],
  ['Mastra', 'mastra'],
  ['OpenAI Agents SDK', 'openai-agents'],
]);

const [heads = [], , ...rows] = read('docs/doors/typescript-frameworks.md')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );

test('each column is a test of every framework', () => {
  const cells = read('test/frameworks/cells.test.ts');
  const columns = heads.slice(1, -2);
  expect(columns).toEqual(['deny', 'reason', 'redact in', 'redact out', 'approval', 'chain', 'streaming']);
  for (const column of columns) expect(cells).toContain(`  test('${column}: `);
  expect(rows.map(([name]) => name)).toEqual([...files.keys()]);
  for (const [name = '', ...row] of rows) {
    const file = files.get(name) ?? '';
    expect(read(`test/frameworks/${file}.ts`)).toContain(`name: '${name}'`);
    expect(cells).toContain(`from './${file}.ts'`);
    for (const cell of row.slice(0, -2)) expect(cell).toMatch(/^(?:yes|no: .+)/);
  }
});

test.each(['oldest', 'newest'] as const)('the %s versions are those that test/frameworks/run installs', (which) => {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(read(`test/frameworks/${which}/package.json`));
  expect(rows.map((row) => row.at(which === 'oldest' ? -2 : -1))).toEqual(packages.map((name) => dependencies[name]));
});

import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { environment } from '../support/environment.ts';
import { readBlocks } from './blocks.ts';
import { type Check, runBlocks } from './run-blocks.ts';
import { findTakenPorts } from './scratch.ts';

let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'tollgate-readme-test-')));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const block = (info: string, text: string): string => `\`\`\`${info}\n${text}\n\`\`\`\n`;

async function run(markdown: string, limitMs = 30_000, signal = new AbortController().signal): Promise<readonly Check[]> {
  const { blocks, problems } = readBlocks('README.md', markdown);
  expect(problems).toEqual([]);
  return runBlocks(blocks, { folder, env: environment({}), limitMs, signal, onCheck: () => {} });
}

const problems = (checks: readonly Check[]): readonly (string | null)[] => checks.map(({ problem }) => problem);

/** Whether the process whose id the file holds has ended, also where its parent has not collected its status yet. */
function hasEnded(file: string): boolean {
  const pid = Number(readFileSync(join(folder, file), 'utf8'));
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}

test('a variable and a function of one block exist in the next', async () => {
  const first = block('sh', 'WORD=seen\nsay() { echo "$WORD: $1"; }');
  const checks = await run(`${first}${block('text', 'not run')}${block('sh', 'say next\n# seen: next')}`);
  expect(checks).toEqual([expect.objectContaining({ problem: null }), expect.objectContaining({ problem: null, output: 'seen: next\n' })]);
});

test('a command that fails fails its block, with its line, and later blocks are not reached', async () => {
  const checks = await run(`Prose.\n${block('sh', 'true\nls ./absent 2>&1\ntouch later')}${block('sh', 'touch later')}`);
  expect(problems(checks)).toEqual(['line 4: `ls ./absent 2>&1` ended with 2', 'was not reached']);
  expect(checks[0]?.output).toContain('absent');
  expect(existsSync(join(folder, 'later'))).toBe(false);
});

test('a failure within a function is reported with the line that calls it, and one within a pipe fails too', async () => {
  expect(problems(await run(block('sh', 'ask() { false; }\ntrue\nask one')))).toEqual(['line 4: `false` ended with 1']);
  expect(problems(await run(block('sh', 'ID=$(false | cat)')))).toEqual(['line 2: `ID=$(false | cat)` ended with 1']);
});

test('a variable that no block has set fails its block', async () => {
  const [check] = await run(block('sh', 'echo "$NEVER_SET_BEFORE"'));
  expect(check?.problem).not.toBeNull();
  expect(check?.output).toContain('line 2: NEVER_SET_BEFORE: unbound variable');
});

test('a block that never ends is a failure that names its line, and its programs are ended', async () => {
  const checks = await run(block('sh', 'true\necho $$ > pid\ntail -f /dev/null'), 2_000);
  expect(problems(checks)).toEqual(['line 4: `tail -f /dev/null` has not ended after 2 s']);
  expect(hasEnded('pid')).toBe(true);
});

test('a program that a block leaves running exists in the next block and is ended at the end', async () => {
  const checks = await run(block('sh', 'tail -f /dev/null &\necho $! > pid') + block('sh', 'kill -0 "$(cat pid)"'));
  expect(problems(checks)).toEqual([null, null]);
  expect(hasEnded('pid')).toBe(true);
});

test.each([
  ['in a command substitution of an argument', 'export WORD=$(false)', 'line 2: `false` ended with 1'],
  [
    'of a program that is not there, started with &',
    'no-such-program > no.log &',
    'line 2: `no-such-program > no.log &` has ended; it must',
  ],
  ['of the first of two programs', 'no-such-program > no.log &\ntail -f /dev/null &', 'line 2: `no-such-program > no.log &` has ended; '],
])('a failure %s fails the block', async (_name, text, problem) => {
  const { blocks } = readBlocks('README.md', block('sh', 'true'));
  const [first] = blocks;
  if (first?.kind !== 'shell') throw new Error('the block is no shell block');
  const checks = await runBlocks([{ ...first, text }], {
    folder,
    env: environment({}),
    limitMs: 30_000,
    signal: new AbortController().signal,
    onCheck: () => {},
  });
  expect(problems(checks)).toEqual([expect.stringContaining(problem)]);
});

test('a program started with & that ends in a later block fails that one, and one that the page ends does not', async () => {
  const start = block('sh', 'mkfifo gate\ncat gate > got &');
  expect(problems(await run(start + block('sh', 'echo go > gate\ntail --pid=$! -f /dev/null')))).toEqual([
    null,
    'line 3: `cat gate > got &` has ended; it must stay, or the page must end it by kill or wait for it',
  ]);
  for (const end of ['kill %1', 'kill "$!"', 'kill $!\nwait $! || [ $? = 143 ]'])
    expect(problems(await run(block('sh', 'tail -f /dev/null &') + block('sh', end)))).toEqual([null, null]);
  expect(problems(await run(block('sh', 'true &\nwait $!')))).toEqual([null]);
});

test('a failure that a block handles is not reported', async () => {
  const commands =
    'seq 3 > numbers\nuntil sed -i 1d numbers; [ ! -s numbers ] | grep -c x || [ ! -s numbers ]; do true; done\n(exit 2) || [ $? = 2 ]';
  expect(problems(await run(block('sh', commands)))).toEqual([null]);
});

test('a block in the background must stay until the end', async () => {
  const stays = block('sh background', 'tail -f /dev/null');
  expect(problems(await run(stays + block('sh', 'true')))).toEqual([null, null]);
  const ends = block('sh', 'mkfifo ended') + block('sh background', 'exec 9> ended\nfalse') + block('sh', 'cat ended');
  expect(problems(await run(ends))).toEqual([null, null, 'line 6: `false` ended with 1']);
});

test('an answer that the page shows must be printed, in its order', async () => {
  const ask = (answer: string): string => block('sh', `echo '${answer}'\n# {"decision":"allow","reason":"allowed: …","id":"…"}`);
  expect(problems(await run(ask('{"decision":"allow","reason":"allowed: the \\"default\\"","id":"7"}')))).toEqual([null]);
  for (const other of [
    '{"decision":"deny","reason":"allowed: x","id":"7"}',
    '{"decision":"allow","reason":"allowed: x","id":"7","more":1}',
  ])
    expect(problems(await run(ask(other)))).toEqual([expect.stringMatching(/^the page shows the answer `\{"decision":"allow",/)]);
  expect(problems(await run(block('sh', 'printf "b\\na\\n"\n# a\n# b')))).toEqual([expect.stringContaining('`b`')]);
});

test('the first line that a console block shows must be printed, whatever the widths of its columns', async () => {
  const table = (head: string): string => block('console', `$ printf 'id  name\\n1   ada\\n'\n${head}\n7         grace`);
  expect(problems(await run(table('id        name')))).toEqual([null]);
  expect(problems(await run(table('id        role')))).toEqual([expect.stringContaining('`id        role`')]);
});

test('a program in TypeScript is written in its parts and must compile', async () => {
  const first = block('ts agent.ts', "const word: string = 'seen';");
  expect(problems(await run(`${first}${block('ts agent.ts', 'console.log(word);\nexport {};')}`))).toEqual([null, null]);
  expect(readFileSync(join(folder, 'agent.ts'), 'utf8')).toContain('console.log(word)');
  const [, check] = await run(first + block('ts agent.ts', 'const count: number = word;\nexport { count };'));
  expect(check).toMatchObject({ problem: 'agent.ts does not compile', output: expect.stringContaining('agent.ts(5,7)') });
});

test('a stop from outside ends the running block and its programs', async () => {
  const stop = new AbortController();
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  server.once('connection', (socket) => {
    stop.abort();
    socket.destroy();
  });
  const commands = `echo $$ > pid\nexec 9<>/dev/tcp/127.0.0.1/${typeof address === 'object' ? address?.port : ''}\ntail -f /dev/null`;
  const checks = await run(block('sh', commands) + block('sh', 'true'), 30_000, stop.signal);
  server.close();
  expect(problems(checks)).toEqual(['was stopped', 'was not reached']);
  expect(hasEnded('pid')).toBe(true);
});

test('a port of the page that another program uses is found', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const { blocks } = readBlocks('README.md', block('sh', `curl http://127.0.0.1:${port}/readyz`) + block('text', '127.0.0.1:1'));
  expect(await findTakenPorts(blocks)).toEqual([port]);
  await new Promise((resolve) => server.close(resolve));
  expect(await findTakenPorts(blocks)).toEqual([]);
});

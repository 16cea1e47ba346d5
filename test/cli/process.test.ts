// The program as a process of its own: its start, its streams, its signals.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { entry, records, ship, spool } from '../control-plane/spool.ts';
import { folder } from './cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

let rest: Rest;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());

const node = ['--import', 'tsx', '--conditions=tollgate-source', 'cli/main.ts'];

function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [...node, ...words], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: folder(), TOLLGATE_URL: rest.origin, TOLLGATE_KEY: rest.owner, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function outcome(child: ChildProcessWithoutNullStreams) {
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = await once(child, 'close');
  return { code: code as unknown, out, err };
}

test('--version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../cli/package.json', import.meta.url), 'utf8')) as { version: string };
  expect(await outcome(start(['--version']))).toEqual({ code: 0, out: `${version}\n`, err: '' });
});

test('KEY=$(tollgate keys create …) holds the key and nothing else', async () => {
  const { code, out } = await outcome(start(['keys', 'create', 'shell', '--scope', 'govern']));
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^gsk_acme_[A-Za-z0-9]{40}\n$/) });
});

test('a key is piped into profile add, and the pipe is not used as a terminal to ask at', async () => {
  const child = start(['profile', 'add', 'piped', '--url', rest.origin, '--key-stdin']);
  child.stdin.end(`${rest.owner}\n`);
  expect(await outcome(child)).toMatchObject({ code: 0, err: expect.stringContaining('workspace acme') });
});

test('Ctrl-C ends a tail with 0', async () => {
  await ship(
    rest,
    spool('a'),
    records(1, 1, () => entry({ tool: 'tool.1' })),
  );
  const child = start(['audit', 'tail', '--from', '0', '--json']);
  const ended = outcome(child);
  await once(child.stdout, 'data');
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 0, out: expect.stringMatching(/^\{.*"tool":"tool\.1".*\}\n$/) });
});

test('a reader that closes early is no error', async () => {
  await ship(
    rest,
    spool('b'),
    records(1, 3000, () => entry({ input: 'x'.repeat(2000) })),
  );
  const child = start(['audit', 'export']);
  child.stdout.once('data', () => child.stdout.destroy());
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const [code] = await once(child, 'close');
  expect({ code: code as unknown, err }).toEqual({ code: 0, err: '' });
});

test('a command does not load the control plane, and libraries are loaded when they are needed', async () => {
  const where = folder();
  expect(await outcome(start(['agents', 'list', '--json'], { NODE_V8_COVERAGE: where }))).toMatchObject({ code: 0 });
  const loaded = readdirSync(where).flatMap((name) => {
    const { result } = JSON.parse(readFileSync(join(where, name), 'utf8')) as { result: readonly { url: string }[] };
    return result.map(({ url }) => url);
  });
  expect(loaded.filter((url) => url.endsWith('/cli/program.ts'))).toHaveLength(1);
  expect(loaded.filter((url) => /\/control-plane\/|node_modules\/(?:fastify|pg|yaml|fast-string-width|@clack|pino)\//.test(url))).toEqual(
    [],
  );
});

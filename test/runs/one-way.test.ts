// One registered program, behind the proxy of a sidecar and in a run of a control plane: it gets the same environment, its output is read
// by the same rules, and its failures are reported in the same words.
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CompiledTarget } from '@tollgate/proto/contract';
import { programEnvironment } from '@tollgate/sidecar/upstream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createToolbox } from '../../control-plane/runs/mcp/toolbox.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import { systemClock } from '../../sidecar/base/clock.ts';
import { readGatewayFile } from '../../sidecar/upstream/gateway-file.ts';
import { createUpstreams } from '../../sidecar/upstream/tool-servers.ts';
import { createTestServer, createTestSidecar } from '../support/governing.ts';
import { keyText, server } from '../support/snapshots.ts';

/** The environment of the sidecar, and of the control plane. */
const ours = {
  HOME: '/home/ann',
  LANG: 'C.UTF-8',
  LOGNAME: 'ann',
  PATH: '/usr/bin:/bin',
  SHELL: '() { echo; }',
  TERM: 'dumb',
  TMPDIR: '/tmp/ann',
  TZ: 'Asia/Seoul',
  USER: 'ann',
  DATABASE_URL: 'postgres://ours',
};
const env = programEnvironment(ours);
const given = { GIVEN: '1' };
type Program = Extract<CompiledTarget, { kind: 'command' }>;

/** `act` has `name`, `raw(bytes)`, `say(message)` and `answer(text)`. */
const speaks = (act: string): Program => ({
  kind: 'command',
  program: process.execPath,
  args: [
    '-e',
    `
    const raw = (bytes) => process.stdout.write(bytes);
    const say = (message) => raw(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined) return;
      const answer = (text) => say({ id, result: { content: [{ type: 'text', text }] } });
      if (method === 'initialize') return say({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } });
      if (method === 'tools/list') return say({ id, result: { tools: [{ name: 'act', inputSchema: { type: 'object' } }] } });
      if (method !== 'tools/call') return say({ id, error: { code: -32601, message: 'no' } });
      ${act}
    });`,
  ],
  env: Object.keys(given),
});

/** Calls its tool `act`. The result is its text, or the words of the failure. */
type Way = (target: Program) => Promise<string>;

const behindTheProxy: Way = async (target) => {
  const read = readGatewayFile(Buffer.from(JSON.stringify({ mcpServers: { box: { env: given } } })), {});
  if ('problems' in read) throw new Error(read.problems.join());
  const sidecar = await createTestSidecar({ world: { servers: [server({ name: 'box', target })] } });
  const rules = { allowPrivate: false, commands: [target.program] };
  const toolServers = createUpstreams({ file: read.file, rules, resolve: async () => [], clock: systemClock, env });
  onTestFinished(() => toolServers.close());
  const { app } = createTestServer(sidecar, { toolServers });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${keyText('key1')}`, 'x-tollgate-agent': 'tester' };
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp/box`), { requestInit: { headers } }));
    const { content } = await client.callTool({ name: 'act', arguments: {} });
    return String(Object(content)[0].text);
  } catch (error) {
    return String(error);
  }
};

const inARun: Way = async (target) => {
  const tool = { name: 'act', description: 'acts', inputSchema: { type: 'object' }, digest: null };
  const reach = createReach({ allowPrivate: false, commands: [target.program] }, env);
  const toolbox = createToolbox([{ name: 'box', target, secrets: () => given, isHeld: () => true, tools: [tool] }], ['box.*'], {
    reach,
    takeSeat: () => ({ leave: () => undefined }),
    schemaProblem: createSchemaProblem(),
  });
  onTestFinished(() => toolbox.close());
  const { output } = await toolbox.call('box.act', {}, { signal: new AbortController().signal, trace: {} });
  return String(output);
};

describe.each<readonly [string, Way]>([
  ['behind the proxy', behindTheProxy],
  ['in a run', inARun],
])('a registered program %s', (_, way) => {
  test('gets its own variables and those that any program needs, without functions of a shell, and no others of ours', async () => {
    expect(JSON.parse(await way(speaks('answer(JSON.stringify(process.env));')))).toEqual({
      HOME: '/home/ann',
      LANG: 'C.UTF-8',
      LOGNAME: 'ann',
      PATH: '/usr/bin:/bin',
      TERM: 'dumb',
      TMPDIR: '/tmp/ann',
      TZ: 'Asia/Seoul',
      USER: 'ann',
      GIVEN: '1',
    });
  });

  test.each<readonly [string, string]>([
    [
      'is not UTF-8',
      String.raw`Buffer.from('{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[{"type":"text","text":"\xff"}]}}\n', 'latin1')`,
    ],
    [
      'has a name twice',
      String.raw`'{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[]},"result":{"content":[{"type":"text","text":"b"}]}}\n'`,
    ],
    ['is no message', String.raw`'{"jsonrpc":"2.0","id":' + id + ',"result":{"content":[]},"more":1}\n'`],
    ['is not JSON', String.raw`'hello\n\n'`],
  ])('writes a line that %s, which is skipped', async (_what, bytes) => {
    expect(await way(speaks(`raw(${bytes}); answer('the answer');`))).toBe('the answer');
  });

  test.each<readonly [string, string, RegExp]>([
    ['exits', 'process.exit(3);', /the tool server exited with 3\b/],
    ['is killed', "process.kill(process.pid, 'SIGKILL');", /the tool server was ended by SIGKILL\b/],
    ['writes a line over the limit', "raw('x'.repeat(17 * 1048576));", /the tool server wrote a line of more than \d+ bytes\b/],
    [
      'writes a message of too many values',
      'say({ id, result: { content: Array.from({ length: 500001 }, () => 1) } });',
      /the tool server wrote a message that has more than 500000 values\b/,
    ],
  ])('that %s fails in words', async (_what, act, words) => {
    expect(await way(speaks(act))).toMatch(words);
  });

  test('that is not there fails in words', async () => {
    expect(await way({ ...speaks(''), program: '/no/such/program' })).toContain(
      'the tool server could not be started: there is no such program, or no such folder to start it in',
    );
  });

  test('with arguments that no program can be given fails in words', async () => {
    expect(await way({ ...speaks(''), args: ['x'.repeat(200_000)] })).toContain('the tool server could not be started');
  });
});

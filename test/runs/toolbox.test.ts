// Calls of the tools of registered servers: real MCP servers, and servers that hang, die, send false data and flood.
import { once, setMaxListeners } from 'node:events';
import type { ServerResponse } from 'node:http';
import { AppError } from '@tollgate/proto/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DiscoveredTool, Target } from '../../control-plane/tool-servers/rules/tool-server.ts';
import { discoverTools } from '../../control-plane/runs/mcp/discover.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import type { TakeSeat } from '../../control-plane/runs/mcp/server-lines.ts';
import { type LinkedServer, notHeld } from '../../control-plane/runs/mcp/server-link.ts';
import { createToolbox } from '../../control-plane/runs/mcp/toolbox.ts';
import { createSchemaProblem } from '../../control-plane/runs/tools/schema-problem.ts';
import type { Toolbox, ToolResult } from '../../control-plane/runs/tools/tool.ts';
import { everything, type FakeServer, type McpServerRequest, startEverything, startFakeServer } from '../support/mcp-servers.ts';
import { eventually } from '../support/programs.ts';

const reach = createReach({ allowPrivate: true, commands: [process.execPath] }, {});
const short = { ...reach, callMs: 400 };
const never = new AbortController().signal;
const json = { 'content-type': 'application/json' };
/** A program is asked to end half a second after its input ended, and is killed a second after that. */
const endsWithinMs = 1_500;
const anySeat: TakeSeat = () => ({ leave: () => undefined });
const toolNamed = (name: string): DiscoveredTool => ({
  name,
  description: `does ${name}`,
  inputSchema: { type: 'object' },
  digest: null,
});
const program = (script: string): Target => ({ kind: 'command', program: process.execPath, args: ['-e', script], env: [] });
const at = (url: string): Target => ({ kind: 'url', url, headers: [] });

const open: Toolbox[] = [];
function box(
  server: Partial<LinkedServer> & Pick<LinkedServer, 'target'>,
  more: { reach?: typeof reach; enabled?: readonly string[]; takeSeat?: TakeSeat } = {},
): Toolbox {
  const one = { name: 'files', secrets: () => ({}), isHeld: () => true, tools: ['read', 'write'].map(toolNamed), ...server };
  const deps = { reach: more.reach ?? reach, takeSeat: more.takeSeat ?? anySeat, schemaProblem: createSchemaProblem() };
  const made = createToolbox([one], more.enabled ?? ['files.*'], deps);
  open.push(made);
  return made;
}
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

const call = (toolbox: Toolbox, name = 'files.read', input: unknown = {}, signal = never): Promise<ToolResult> =>
  toolbox.call(name, input, { signal, trace: {} });

let fake: FakeServer;
beforeAll(async () => {
  fake = await startFakeServer();
});
afterAll(() => fake.close());
beforeEach(() => {
  fake.asked.length = 0;
  fake.modern = false;
  answering(() => ({ content: [{ type: 'text', text: 'done' }] }));
});

/** Sets what the fake server answers to calls. `result` returns true if it has answered on its own. */
function answering(result: (asked: McpServerRequest, response: ServerResponse) => object | true): void {
  fake.instead = (asked, response) => {
    if (asked.rpc.method !== 'tools/call') return false;
    const answer = result(asked, response);
    if (answer !== true)
      response
        .writeHead(200, json)
        .end(JSON.stringify({ jsonrpc: '2.0', id: asked.rpc.id, ...('error' in answer ? answer : { result: answer }) }));
    return true;
  };
}
const methods = (): readonly unknown[] => fake.asked.map(({ rpc }) => rpc.method).filter((method) => method !== undefined);
const calls = (): number => methods().filter((method) => method === 'tools/call').length;

describe('the list', () => {
  test('has what discovery found and enabledTools names, and opens no connection', async () => {
    const before = fake.connections;
    const toolbox = box({ target: at(fake.url) }, { enabled: ['files.read', 'other.*'] });
    expect(toolbox.tools).toEqual([{ name: 'files.read', description: 'does read', inputSchema: { type: 'object' } }]);
    expect(await call(toolbox, 'files.write')).toEqual({ output: 'there is no such tool', isError: true });
    expect(fake.connections).toBe(before);
  });
});

describe('a call', () => {
  test('of the demonstration server over Streamable HTTP works', async () => {
    const real = await startEverything();
    try {
      const target = at(real.url);
      const tools = await discoverTools({ name: 'files', target, secrets: {} }, reach);
      const toolbox = box({ target, tools });
      const answers = await Promise.all([
        call(toolbox, 'files.echo', { message: 'hello' }),
        call(toolbox, 'files.get-sum', { a: 2, b: 3 }),
        call(toolbox, 'files.get-tiny-image'),
        call(toolbox, 'files.get-structured-content', { location: 'Chicago' }),
        call(toolbox, 'files.get-sum', { a: 'two' }),
      ]);
      expect(answers[0]).toEqual({ output: 'Echo: hello', isError: false });
      expect(answers[1]).toEqual({ output: 'The sum of 2 and 3 is 5.', isError: false });
      expect(answers[2]?.output).toContainEqual({ type: 'image', mimeType: 'image/png', bytes: expect.any(Number) });
      expect(answers[3]).toEqual({ output: { temperature: 36, conditions: expect.any(String), humidity: 82 }, isError: false });
      expect(answers[4]).toEqual({ output: expect.stringMatching(/a/), isError: true });
    } finally {
      await real.close();
    }
  });

  test('of the demonstration server over standard streams works, and the server is started once', async () => {
    const target: Target = { kind: 'command', program: process.execPath, args: [everything, 'stdio'], env: [] };
    let seats = 0;
    const takeSeat: TakeSeat = () => {
      seats += 1;
      return {
        leave: () => {
          seats -= 1;
        },
      };
    };
    const toolbox = box({ target, tools: [toolNamed('echo')] }, { takeSeat });
    const answers = await Promise.all(['a', 'b', 'c'].map((message) => call(toolbox, 'files.echo', { message })));
    expect(answers.map(({ output }) => output)).toEqual(['Echo: a', 'Echo: b', 'Echo: c']);
    expect(seats).toBe(1);
    await toolbox.close();
    expect(seats).toBe(0);
    expect(await call(toolbox, 'files.echo', { message: 'd' })).toEqual({ output: 'the run has ended', isError: true });
  });

  test('of a server that is removed during the connection is not made', async () => {
    let there = true;
    const instead = fake.instead;
    fake.instead = (asked, response) => {
      there = false;
      return instead(asked, response);
    };
    expect(await call(box({ target: at(fake.url), isHeld: () => there }))).toEqual({ output: notHeld, isError: true });
    expect(methods()).toContain('initialize');
    expect(calls()).toBe(0);
  });

  test.each([
    ['over HTTP', () => at(fake.url)],
    ['of a program', (): Target => ({ kind: 'command', program: process.execPath, args: [everything, 'stdio'], env: [] })],
  ])('%s, 30 at once, causes no Node warning', async (_, target) => {
    const warnings: Error[] = [];
    const hear = (warning: Error): void => void warnings.push(warning);
    process.on('warning', hear);
    const signal = new AbortController().signal;
    setMaxListeners(0, signal);
    const toolbox = box({ target: target(), tools: [toolNamed('echo')] });
    const answers = await Promise.all(Array.from({ length: 30 }, () => call(toolbox, 'files.echo', { message: 'x' }, signal)));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', hear);
    expect(answers.filter(({ isError }) => !isError)).toHaveLength(30);
    expect(warnings).toEqual([]);
  });

  test('of a server with the newest protocol works', async () => {
    fake.modern = true;
    answering(() => ({ resultType: 'complete', content: [{ type: 'text', text: 'modern' }] }));
    expect(await call(box({ target: at(fake.url) }))).toEqual({ output: 'modern', isError: false });
  });

  test('sends the headers of the definition, and trace context in headers and in the request', async () => {
    const toolbox = box({ target: at(fake.url), secrets: () => ({ Authorization: 'Bearer 0123456789' }) });
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
    await toolbox.call('files.read', { path: '/' }, { signal: never, trace });
    const asked = fake.asked.find(({ rpc }) => rpc.method === 'tools/call');
    expect(asked?.headers).toMatchObject({ authorization: 'Bearer 0123456789', ...trace });
    expect(asked?.rpc.params).toMatchObject({ name: 'read', arguments: { path: '/' }, _meta: trace });
  });

  test('without telemetry carries no trace context', async () => {
    await call(box({ target: at(fake.url) }));
    const asked = fake.asked.find(({ rpc }) => rpc.method === 'tools/call');
    expect(JSON.stringify(asked?.rpc.params)).not.toContain('_meta');
  });
});

describe('an answer', () => {
  const answered = async (result: object): Promise<ToolResult> => {
    answering(() => result);
    return call(box({ target: at(fake.url) }));
  };
  const text = (words: string) => ({ type: 'text', text: words });

  test.each<readonly [string, object, unknown]>([
    ['one text is that text', { content: [text('a')] }, 'a'],
    ['several blocks are a list', { content: [text('a'), text('b')] }, [text('a'), text('b')]],
    ['none is an empty list', { content: [] }, []],
    [
      'structured content that its text repeats is said once',
      { content: [text('{"b":[1],"a":2}')], structuredContent: { a: 2, b: [1] } },
      { a: 2, b: [1] },
    ],
    [
      'structured content next to another text is there with it',
      { content: [text('see')], structuredContent: { a: 2 } },
      { content: [text('see')], structuredContent: { a: 2 } },
    ],
    [
      'what is no text is named by type and size',
      {
        content: [
          { type: 'image', mimeType: 'image/png', data: 'AAAA' },
          { type: 'audio', mimeType: 'audio/wav', data: 'AAA=' },
          { type: 'resource', resource: { uri: 'file:///x', mimeType: 'text/plain', text: 'inside' } },
          { type: 'resource', resource: { uri: 'file:///y', blob: 'AAAAAAAA' } },
          { type: 'resource_link', uri: 'file:///z', name: 'z' },
        ],
      },
      [
        { type: 'image', mimeType: 'image/png', bytes: 3 },
        { type: 'audio', mimeType: 'audio/wav', bytes: 2 },
        { type: 'resource', uri: 'file:///x', mimeType: 'text/plain', text: 'inside' },
        { type: 'resource', uri: 'file:///y', bytes: 6 },
        { type: 'resource_link', uri: 'file:///z', name: 'z' },
      ],
    ],
    ['what no database can hold is repaired', { content: [text('a\0b\ud800')] }, 'a\ufffdb\ufffd'],
  ])('%s', async (_what, result, output) => {
    expect(await answered(result)).toEqual({ output, isError: false });
  });

  describe('with an outputSchema', () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const promised = async (result: object, secrets = {}): Promise<ToolResult> => {
      answering(() => result);
      const tools = [{ ...toolNamed('read'), outputSchema }];
      return call(box({ target: at(fake.url), tools, secrets: () => secrets }));
    };

    test('that fits it is returned as it is', async () => {
      expect(await promised({ content: [], structuredContent: { n: 1 } })).toEqual({ output: { n: 1 }, isError: false });
    });

    test.each<readonly [string, object, string]>([
      ['a field of another type', { content: [text('{"n":"x"}')], structuredContent: { n: 'x' } }, 'n must be integer'],
      ['a missing field', { content: [], structuredContent: {} }, 'n is required'],
      ['only text', { content: [text('1')] }, 'it has no structuredContent'],
    ])('that breaks it by %s is an error that states the reason, together with the answer', async (_what, result, words) => {
      const { output, isError } = await promised(result);
      expect(isError).toBe(true);
      expect(output).toEqual({ problem: `the answer does not fit the outputSchema of its tool: ${words}`, answered: expect.anything() });
      expect(await call(box({ target: at(fake.url) }))).toMatchObject({ isError: false });
    });

    test('and that is an error does not have to fit it', async () => {
      expect(await promised({ content: [text('no such file')], isError: true })).toEqual({ output: 'no such file', isError: true });
    });

    test('and that breaks it with a secret does not reveal the secret', async () => {
      const key = 'abcdefgh12345678';
      const strict = { type: 'object', additionalProperties: false };
      answering(() => ({ content: [], structuredContent: { [key]: 1 } }));
      const tools = [{ ...toolNamed('read'), outputSchema: strict }];
      const { output } = await call(box({ target: at(fake.url), tools, secrets: () => ({ 'x-key': key }) }));
      expect(JSON.stringify(output)).toContain('***');
      expect(JSON.stringify(output)).not.toContain(key);
    });
  });

  test('that reports an error is an error, in the words of the server', async () => {
    expect(await answered({ content: [text('no such file')], isError: true })).toEqual({ output: 'no such file', isError: true });
  });

  test('that is a refusal of the protocol contains its words', async () => {
    expect(await answered({ error: { code: -32602, message: 'path is missing' } })).toEqual({
      output: expect.stringContaining('the tool server refused the call: '),
      isError: true,
    });
  });

  test('of more than 1 MiB is cut between words, and reports it', async () => {
    const { output, isError } = await answered({ content: [text('"wörter" '.repeat(200_000))] });
    expect(isError).toBe(false);
    expect(output).toEqual({
      cut: expect.stringMatching(/^the tool answered \d{7} bytes of JSON; its beginning follows/),
      text: expect.stringMatching(/"wörter"$/),
    });
    const bytes = Buffer.byteLength(JSON.stringify(output));
    expect(bytes).toBeLessThanOrEqual(1_048_576);
    expect(bytes).toBeGreaterThan(1_000_000);
  });

  test('reveals no secret that the server was sent', async () => {
    answering(({ headers }) => ({ content: [text(`you said ${headers.authorization}`), text('and 0123456789ab')] }));
    const toolbox = box({ target: at(fake.url), secrets: () => ({ Authorization: 'Bearer 0123456789ab' }) });
    expect((await call(toolbox)).output).toEqual([text('you said ***'), text('and ***')]);
  });

  test.each<readonly [string, object]>([
    ['of another form', { content: 'text' }],
    ['with a block of no kind', { content: [{ type: 'video', data: 1 }] }],
    ['with a text that is none', { content: [{ type: 'text', text: 7 }] }],
  ])('that is not a valid result, %s, is a failure with a message', async (_what, result) => {
    expect(await answered(result)).toEqual({ output: 'the tool server sent an answer that is not a tool result', isError: true });
  });
});

describe('a server that', () => {
  const unknown = 'it is not known whether the call was executed';
  const failing = async (words: string, more: Parameters<typeof box>[1] = {}): Promise<Toolbox> => {
    const toolbox = box({ target: at(fake.url) }, more);
    expect(await call(toolbox)).toEqual({ output: expect.stringContaining(words), isError: true });
    return toolbox;
  };

  test('hangs is given up after the timeout of a call; the next call uses the same connection', async () => {
    answering(() => true);
    const toolbox = await failing(`did not answer within 400 ms; ${unknown}`, { reach: short });
    answering(() => ({ content: [] }));
    expect(await call(toolbox)).toEqual({ output: [], isError: false });
    expect(methods().filter((method) => method === 'initialize').length).toBe(1);
  });

  test('hangs while the connection opens is given up too, and tried again with the next call', async () => {
    fake.instead = () => true;
    const toolbox = await failing('did not answer within 400 ms', { reach: short });
    answering(() => ({ content: [] }));
    expect(await call(toolbox)).toEqual({ output: [], isError: false });
  });

  test('ends the stream of its answer without an answer is not waited for', async () => {
    answering((_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': bye\n\n');
      return true;
    });
    await failing(`ended its answer before it was complete; ${unknown}`);
  });

  test('breaks off the connection in the middle of an answer is asked once', async () => {
    answering((_asked, response) => {
      response.writeHead(200, json).write('{"jsonrpc":');
      response.destroy();
      return true;
    });
    await failing(unknown);
    expect(calls()).toBe(1);
  });

  test('answers with an error status reports its number, and nothing of its body', async () => {
    answering((_asked, response) => {
      response.writeHead(500).end('inner secrets');
      return true;
    });
    const toolbox = box({ target: at(fake.url) });
    expect(await call(toolbox)).toEqual({ output: 'the tool server answered with status 500', isError: true });
    expect(calls()).toBe(1);
  });

  test.each([400, 404])('has forgotten its session (%i) is initialized again, and asked again once', async (status) => {
    let session = 0;
    let forgotten = false;
    fake.instead = ({ rpc, headers }, response) => {
      if (rpc.method === 'initialize') {
        session += 1;
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } };
        response.writeHead(200, { ...json, 'mcp-session-id': `s${session}` }).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
        return true;
      }
      if (rpc.method !== 'tools/call') return false;
      if (forgotten || headers['mcp-session-id'] === 's1') response.writeHead(status).end();
      else response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: { content: [] } }));
      return true;
    };
    const toolbox = box({ target: at(fake.url) });
    expect(await call(toolbox)).toEqual({ output: [], isError: false });
    expect({ session, calls: calls() }).toEqual({ session: 2, calls: 2 });
    forgotten = true;
    expect(await call(toolbox)).toEqual({ output: `the tool server answered with status ${status}`, isError: true });
    expect(calls()).toBe(4);
  });

  test.each(['application/json', 'text/event-stream'])('answers 50 MB of %s is cut off, and the next call succeeds', async (type) => {
    let written = 0;
    answering((_asked, response) => {
      response.writeHead(200, { 'content-type': type });
      if (type !== 'application/json') response.write('data: ');
      const block = Buffer.alloc(1_048_576, 'x');
      const write = (): void => {
        while (written < 50 && !response.destroyed) {
          written += 1;
          if (!response.write(block)) return void response.once('drain', write);
        }
        response.end();
      };
      write();
      return true;
    });
    const toolbox = await failing('answered more than 4194304 bytes');
    expect(written).toBeLessThan(40);
    answering(() => ({ content: [] }));
    expect(await call(toolbox)).toEqual({ output: [], isError: false });
  });

  test('answers much in total, in answers that are each short enough, is read to the end', async () => {
    answering(() => ({ content: [{ type: 'text', text: 'x'.repeat(1_000_000) }] }));
    const toolbox = box({ target: at(fake.url) });
    for (let at = 0; at < 6; at += 1) expect((await call(toolbox)).isError).toBe(false);
  });

  test('is no longer allowed to be reached is reported, and not contacted', async () => {
    const toolbox = box({ target: at(fake.url) }, { reach: { ...reach, allowPrivate: false } });
    fake.asked.length = 0;
    expect(await call(toolbox)).toEqual({
      output: expect.stringContaining('the tool server cannot be asked: url must begin with https://'),
      isError: true,
    });
    expect(fake.asked).toEqual([]);
  });

  test('is down is reported', async () => {
    const gone = await startFakeServer();
    await gone.close();
    expect(await call(box({ target: at(gone.url) }))).toEqual({
      output: expect.stringContaining('the tool server could not be reached'),
      isError: true,
    });
  });

  test('has secrets that cannot be decrypted is not asked', async () => {
    const secrets = (): never => {
      throw new AppError({ code: 'conflict', publicMessage: 'its headers cannot be decrypted' });
    };
    expect(await call(box({ target: at(fake.url), secrets }))).toEqual({
      output: 'the tool server cannot be asked: its headers cannot be decrypted',
      isError: true,
    });
    expect(fake.asked).toEqual([]);
  });
});

/**
 * A server on standard streams that initializes, and handles a call with the code `onCall`: `id`, `name` and
 * `answer(result)`.
 */
const greets = (onCall: string): Target =>
  program(`
    const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const answer = (result) => say({ id, result });
      if (method === 'initialize') return answer({ protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } });
      if (method !== 'tools/call') return say({ id, error: { code: -32601, message: 'no' } });
      const { name } = params;
      ${onCall}
    });`);

describe('a program that', () => {
  test('dies in the middle of a call is asked once, and started again for the next call', async () => {
    const target = greets("if (name === 'write') process.exit(3); answer({ content: [{ type: 'text', text: String(process.pid) }] });");
    const toolbox = box({ target });
    const first = await call(toolbox);
    expect(await call(toolbox, 'files.write')).toEqual({
      output: 'the tool server exited with 3; it is not known whether the call was executed',
      isError: true,
    });
    const second = await call(toolbox);
    expect([first.isError, second.isError]).toEqual([false, false]);
    expect(second.output).not.toBe(first.output);
  });

  test('died between two calls is started again without an error', async () => {
    const target = greets("answer({ content: [{ type: 'text', text: String(process.pid) }] }); setImmediate(() => process.exit());");
    const toolbox = box({ target });
    const pids = new Set<unknown>();
    for (let at = 0; at < 3; at += 1) {
      const { output, isError } = await call(toolbox);
      expect(isError).toBe(false);
      pids.add(output);
      await gone(Number(output));
    }
    expect(pids.size).toBe(3);
  });

  test('answers 50 MB is cut off before its end is waited for, and does not use that much heap', async () => {
    const target = greets(
      "if (name === 'read') return answer({ content: [] }); answer({ content: [{ type: 'text', text: 'x'.repeat(50 * 1048576) }] }); process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000);",
    );
    const toolbox = box({ target });
    await call(toolbox);
    let peak = 0;
    const before = process.memoryUsage().heapUsed;
    const watching = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().heapUsed - before);
    }, 5);
    // With fake timers, no timer can bring the answer. Only advancing the time ends the program.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    expect(await call(toolbox, 'files.write')).toEqual({
      output: expect.stringContaining('wrote a line of more than 4194304 bytes'),
      isError: true,
    });
    clearInterval(watching);
    vi.advanceTimersByTime(endsWithinMs);
    vi.useRealTimers();
    expect(peak).toBeLessThan(30 * 1_048_576);
    expect(await call(toolbox)).toEqual({ output: [], isError: false });
  });

  test('writes something that is not a message is waited for until the timeout', async () => {
    const toolbox = box({ target: greets("console.log('hello');") }, { reach: { ...reach, callMs: 2_500 } });
    expect(await call(toolbox)).toEqual({ output: expect.stringContaining('did not answer within 2500 ms'), isError: true });
  });

  test('ends at once is reported', async () => {
    // Which of the two is seen first depends on the system: its exit, or that its input is closed.
    const output = expect.stringMatching(/^the tool server (?:exited with 0|no longer takes input)$/);
    expect(await call(box({ target: program('') }))).toEqual({ output, isError: true });
  });

  test('finds no free place to run is reported', async () => {
    const toolbox = box({ target: greets('') }, { takeSeat: () => null });
    expect(await call(toolbox)).toEqual({
      output: expect.stringContaining('the tool server cannot be asked: too many programs'),
      isError: true,
    });
  });
});

/** Resolves when the process has ended. */
async function gone(pid: number): Promise<void> {
  await eventually(
    async () => isAlive(pid),
    (alive) => !alive,
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a run that ends', () => {
  test('rejects a call in flight with its reason, and the server is notified', async () => {
    const ending = new AbortController();
    const asked = new Promise<void>((resolve) => {
      answering(() => {
        resolve();
        return true;
      });
    });
    const waiting = call(box({ target: at(fake.url) }), 'files.read', {}, ending.signal);
    await asked;
    const reason = new Error('cancelled');
    ending.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect.poll(methods).toContain('notifications/cancelled');
  });

  test('rejects a call that comes after it, and sends no request', async () => {
    const reason = new Error('cancelled');
    await expect(call(box({ target: at(fake.url) }), 'files.read', {}, AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(fake.asked).toEqual([]);
  });

  test('does not close the connection that calls of others use', async () => {
    const ending = new AbortController();
    const held: ServerResponse[] = [];
    const two = new Promise<void>((resolve) => {
      answering((_asked, response) => {
        if (held.push(response) === 2) resolve();
        return true;
      });
    });
    const toolbox = box({ target: at(fake.url) });
    const [left, stays] = [call(toolbox, 'files.read', {}, ending.signal), call(toolbox)];
    await two;
    ending.abort(new Error('cancelled'));
    await expect(left).rejects.toThrow('cancelled');
    const ids = fake.asked.filter(({ rpc }) => rpc.method === 'tools/call').map(({ rpc }) => rpc.id);
    for (const [at, response] of held.entries())
      if (!response.destroyed) response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: ids[at], result: { content: [] } }));
    expect(await stays).toEqual({ output: [], isError: false });
  });

  test('ends the programs that it started', async () => {
    const toolbox = box({ target: greets("answer({ content: [{ type: 'text', text: String(process.pid) }] });") });
    const pid = Number((await call(toolbox)).output);
    await toolbox.close();
    await gone(pid);
    expect(pid).toBeGreaterThan(1);
  });

  test('ends even a program that does not stop, a second and a half after its input ended', async () => {
    const target = greets(
      "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000); answer({ content: [{ type: 'text', text: String(process.pid) }] });",
    );
    const toolbox = box({ target });
    const pid = Number((await call(toolbox)).output);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = toolbox.close();
    // One timer to ask the program, and one to kill it.
    while (vi.getTimerCount() < 2) await new Promise((turn) => setImmediate(turn));
    vi.advanceTimersByTime(endsWithinMs - 1);
    expect(isAlive(pid)).toBe(true);
    vi.advanceTimersByTime(1);
    await closed;
    vi.useRealTimers();
    await gone(pid);
  });

  test('ends a session that the server has created', async () => {
    const inner = fake.instead;
    fake.instead = (asked, response) => {
      if (asked.rpc.method === 'initialize') response.setHeader('mcp-session-id', 's1');
      return inner(asked, response);
    };
    const toolbox = box({ target: at(fake.url) });
    await call(toolbox);
    await toolbox.close();
    expect(fake.asked.at(-1)).toMatchObject({ method: 'DELETE', headers: { 'mcp-session-id': 's1' } });
  });
});

test('a server that sends slowly is read only until the timeout of a call', async () => {
  answering((_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const drip = setInterval(() => response.write(': still here\n'), 20);
    void once(response, 'close').then(() => clearInterval(drip));
    return true;
  });
  const toolbox = box({ target: at(fake.url) }, { reach: short });
  expect(await call(toolbox)).toEqual({ output: expect.stringContaining('did not answer within 400 ms'), isError: true });
});

// The size of messages from a tool server: large honest messages pass, and a message that would exhaust the heap of a
// sidecar is rejected before it is parsed.
import { bounds } from '@tollgate/proto/contract';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseBody } from '../../../../control-plane/http/json-body.ts';
import { MemoryIsFull } from '../../../../sidecar/doors/entrance/body-memory.ts';
import { MessageTooLarge } from '../../../../sidecar/upstream/upstream.ts';
import { messageNodes as most, parseServerMessage, readMessage } from '../../../../sidecar/upstream/wire/server-message.ts';
import { behind, call, json, rpcOf, send } from './proxied.ts';

const answer = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

const textOf = (text: string): string => JSON.stringify({ content: [{ type: 'text', text }] });

test.each([
  ['a file of 8 MiB in one text', () => textOf('x'.repeat(8 * 1_048_576))],
  [
    'an image of 12 MiB in base64',
    () => JSON.stringify({ content: [{ type: 'image', data: Buffer.alloc(9 * 1_048_576).toString('base64'), mimeType: 'image/png' }] }),
  ],
  ['a text of code, full of brackets', () => textOf('[{,'.repeat(1_000_000))],
  [
    'a list of 50,000 rows',
    () =>
      JSON.stringify({
        structuredContent: {
          rows: Array.from({ length: 50_000 }, (_, id) => ({
            id,
            name: `row ${id}`,
            on: true,
            at: '2026-11-24',
            size: 1.5,
            tags: ['a', 'b'],
          })),
        },
      }),
  ],
])('%s is read', (_what, result) => {
  expect(parseServerMessage(answer(result()))).toMatchObject({ kind: 'response', id: 1, holds: 'result' });
});

test('a message of more than 500,000 values is rejected with a message before it is parsed', () => {
  const parsing = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parsing.mockRestore());
  for (const one of ['{}', '[]', '{"a":{"b":[]}}']) {
    const text = answer(`[${Array.from({ length: most }, () => one).join(',')}]`);
    expect(() => parseServerMessage(text)).toThrow(new MessageTooLarge(`a message that has more than ${most} values`));
    expect(() => readMessage(Buffer.from(text))).toThrow(MessageTooLarge);
  }
  expect(parsing).not.toHaveBeenCalled();
});

test('a policy set of 10,000 agents is read, and a body of too many values is rejected before it is parsed', () => {
  const agents = Array.from({ length: 10_000 }, (_, at) => ({
    id: `agent-${at}`,
    name: `agent ${at}`,
    enabledTools: Array.from({ length: 20 }, (__, tool) => `server-${tool}.tool-${at}`),
    scopes: ['tickets.read', 'tickets.write', 'mail.send'],
    caps: { maxToolCalls: 100, maxBudgetCents: 500, maxDurationMs: 60_000, maxToolRounds: 10 },
    tiers: { interactive: { permission: 'allow', rateLimit: 60 }, background: { permission: 'deny' } },
  }));
  const bytes = Buffer.from(JSON.stringify({ agents }));
  expect(bytes.length).toBeLessThan(bounds.policySetBytes);
  expect(parseBody(bytes, bounds.policySetNodes)).toEqual({ agents });
  const parsing = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parsing.mockRestore());
  const large = Buffer.from(`[${'{},'.repeat(bounds.policySetNodes)}0]`);
  expect(() => parseBody(large, bounds.policySetNodes)).toThrow(`the body has more than ${bounds.policySetNodes} values`);
  expect(() => parseBody(Buffer.from('['.repeat(1_048_576)), bounds.jsonNodes)).toThrow(
    `the body is nested deeper than ${bounds.jsonDepth}`,
  );
  expect(parsing).not.toHaveBeenCalled();
});

test.each(['application/json', 'text/event-stream'])(
  'an answer in %s that gets no memory budget in time is withheld, and its entry records it',
  async (type) => {
    const { proxied } = await behind({
      answer: (heard, response) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: rpcOf(heard).id, result: { content: [{ type: 'text', text: 'sent' }] } });
        response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? text : `data: ${text}\n\n`);
      },
    });
    // The list of tools is read, its answer is not.
    const full = vi
      .spyOn(proxied.bodies, 'hold')
      .mockResolvedValueOnce(() => undefined)
      .mockRejectedValue(new MemoryIsFull('too many bytes are being read at the same time'));
    onTestFinished(() => full.mockRestore());
    const { text } = await send(proxied, 's', { body: call('echo', {}), headers: { accept: 'application/json, text/event-stream' } });
    expect(text).toContain('the answer of the tool server was not read: too many bytes are being read at the same time');
    expect(text).not.toContain('sent');
    const entries = await proxied.sidecar.entries();
    expect(entries.map(({ hookEvent, outcome }) => [hookEvent, outcome?.isError])).toEqual([
      ['PreToolUse', undefined],
      ['PostToolUse', true],
    ]);
  },
);

test('the pages of a list of tools stay in the memory budget together until all are read, and are then released', async () => {
  const { up, proxied } = await behind({
    answer: (heard, response) => {
      const { id, method, params } = rpcOf(heard);
      const page = Number(params?.['cursor'] ?? 0);
      const tools = [{ name: page === 2 ? 'echo' : `other-${page}`, inputSchema: { type: 'object' } }];
      const result = method === 'tools/list' ? { tools, ...(page < 2 ? { nextCursor: String(page + 1) } : {}) } : { content: [] };
      json(response, { jsonrpc: '2.0', id, result });
    },
  });
  up.tools = null;
  const counts = { held: 0, most: 0 };
  const hold = proxied.bodies.hold.bind(proxied.bodies);
  const full = vi.spyOn(proxied.bodies, 'hold').mockImplementation(async (...asked) => {
    const giveBack = await hold(...asked);
    counts.most = Math.max(counts.most, (counts.held += 1));
    return () => {
      counts.held -= 1;
      giveBack();
    };
  });
  onTestFinished(() => full.mockRestore());
  expect((await send(proxied, 's', { body: call('echo', {}) })).body.result).toEqual({ content: [] });
  expect(counts).toEqual({ held: 0, most: 3 });
  full.mockRejectedValue(new MemoryIsFull('too many bytes are being read at the same time'));
  const { text } = await send(proxied, 's', { body: call('missing', {}) });
  expect(text).toContain('the list of tools from the tool server was not read: too many bytes are being read at the same time');
});

test('large calls of one key that run at the same time get their large answers', async () => {
  const calls = 16;
  const waiting: (() => void)[] = [];
  const { proxied } = await behind({
    answer: (heard, response) => {
      const { id } = rpcOf(heard);
      waiting.push(() => json(response, { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(900_000) }] } }));
      // All requests use the budget before the first answer comes.
      if (waiting.length === calls) for (const answerOne of waiting) answerOne();
    },
  });
  const large = { text: 'x'.repeat(1_000_000) };
  const answers = await Promise.all(Array.from({ length: calls }, () => send(proxied, 's', { body: call('echo', large) })));
  expect(answers.map(({ text }) => text.includes('was not read'))).toEqual(Array.from({ length: calls }, () => false));
});

test('a list of tools does not wait for memory that its own pages use', async () => {
  const description = 'x'.repeat(10 * 1_048_576);
  const { up, proxied } = await behind({
    answer: (heard, response) => {
      const { id, method, params } = rpcOf(heard);
      const isLast = params?.['cursor'] !== undefined;
      const tools = [{ name: isLast ? 'echo' : 'other', description, inputSchema: { type: 'object' } }];
      const result = method === 'tools/list' ? { tools, ...(isLast ? {} : { nextCursor: '1' }) } : { content: [] };
      json(response, { jsonrpc: '2.0', id, result });
    },
  });
  up.tools = null;
  expect((await send(proxied, 's', { body: call('echo', {}) })).body.result).toEqual({ content: [] });
});

test.each(['take', 'takeMore'] as const)(
  'a body over the memory budget is rejected in the form of the protocol, and counted (%s)',
  async (method) => {
    const { up, proxied } = await behind();
    vi.spyOn(proxied.bodies, method).mockReturnValue(false);
    vi.spyOn(proxied.bodies, 'waitForMore').mockResolvedValue(false);
    onTestFinished(() => void vi.restoreAllMocks());
    const list = Array.from({ length: 1_000 }, () => 0);
    const { status, headers, body } = await send(proxied, 's', { body: call('echo', { list }) });
    expect([status, headers.get('retry-after')]).toEqual([429, '1']);
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32600,
        message: 'request_limit: too many body bytes of this caller are in progress; try again when earlier requests are answered',
      },
    });
    expect(up.heard).toEqual([]);
    await proxied.close();
    const entries = await proxied.sidecar.entries();
    expect(entries.map(({ hookEvent, tool, code }) => [hookEvent, tool, code])).toEqual([['PreToolUse', '', 'request_limit']]);
  },
);

// What is stored of the tools that a server lists is bounded. A tool beyond the bounds does not exist, for lists and
// for calls.
import { expect, test } from 'vitest';
import { behind, call, json, modernHeaders, metaOf, rpcOf, send } from '../proxied.ts';

const long = (length: number): string => 'n'.repeat(length);
const headerUnder = (...path: readonly string[]): object =>
  path.reduceRight<object>((schema, key) => ({ type: 'object', properties: { [key]: schema } }), { type: 'string', 'x-mcp-header': 'To' });

const tools: readonly object[] = [
  { name: 'a', inputSchema: { type: 'object' } },
  { name: long(200), inputSchema: { type: 'object' } },
  { name: long(201), inputSchema: { type: 'object' } },
  { name: long(1_000_000), inputSchema: { type: 'object' } },
  { name: 'near', inputSchema: headerUnder(long(999)) },
  { name: 'far', inputSchema: headerUnder(long(500), long(500)) },
  // With two tools of one name, it is unknown which is meant.
  { name: 'twice', inputSchema: { type: 'object' } },
  { name: 'twice', inputSchema: headerUnder(long(1_000)) },
];

async function listing() {
  const one = await behind({
    answer: (heard, response) => {
      const { id, method } = rpcOf(heard);
      json(response, { jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools } : { content: [] } });
    },
  });
  one.up.tools = null;
  return one;
}

test('tools with names over 200 characters, or with header paths over 1,000 in total, are not listed', async () => {
  const { proxied } = await listing();
  const listed = await send(proxied, 's', {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: metaOf() } },
    headers: modernHeaders('tools/list'),
  });
  expect(listed.body.result).toMatchObject({ tools: [{ name: 'a' }, { name: 'near' }, { name: long(200) }] });
});

test.each(['far', 'twice'])('a tool beyond the bounds cannot be called, as any tool that is not listed: %s', async (name) => {
  const { proxied, up } = await listing();
  const { body } = await send(proxied, 's', { body: call(name, {}) });
  expect(body.error?.message).toBe(`Unknown tool: ${name}`);
  expect(up.heard.map((heard) => rpcOf(heard).method)).not.toContain('tools/call');
});

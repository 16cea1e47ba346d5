// A span for each governed call, at every door: in the trace of its caller, passed on to its tool, and without any
// content.
import { context, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createSpans } from '../../../sidecar/telemetry/spans.ts';
import { createTestServer, createTestSidecar, type TestSidecar } from '../../support/governing.ts';
import { agent, keyText, ruleFor, type World } from '../../support/snapshots.ts';
import { startTool } from '../doors/http/behind-the-gate.ts';
import { call, json, modernCall, modernHeaders, overHttp, record, rpcOf, send, serversOf, startProxied } from '../doors/mcp/proxied.ts';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const { calls: tracing } = createSpans(provider.getTracer('test'));
beforeEach(() => exporter.reset());
afterAll(async () => {
  await provider.shutdown();
  for (const api of [trace, context, propagation]) api.disable();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const incoming = { traceparent: `00-${traceId}-${parentId}-01`, tracestate: 'vendor=1' };
const secret = 'rosebud';
const key = keyText('key1');

function theSpan(): ReadableSpan {
  const [span, ...others] = exporter.getFinishedSpans();
  if (span === undefined || others.length > 0) throw new Error(`there are ${exporter.getFinishedSpans().length} spans`);
  return span;
}

function expectKept(span: ReadableSpan): void {
  const text = JSON.stringify([span.name, span.attributes, span.events, span.status]);
  expect(text).not.toMatch(/rosebud|gsk_|@/);
  expect(span.spanContext().traceId).toBe(traceId);
  expect(span.parentSpanContext?.spanId).toBe(parentId);
}

async function askHook(path: string, body: object, headers: Readonly<Record<string, string>> = incoming) {
  const sidecar = await createTestSidecar({
    world: { agents: [agent({ enabledTools: ['files.*'] })], documents: [ruleFor('mail.send', { permission: 'deny' })] },
  });
  const { app } = createTestServer(sidecar, { tracing });
  await app.inject({ method: 'POST', url: path, headers: { authorization: `Bearer ${key}`, ...headers }, payload: body });
  return sidecar;
}

const toldOf = async (sidecar: TestSidecar): Promise<readonly unknown[]> =>
  (await sidecar.entries()).map(({ hookEvent, traceId: of, spanId }) => [hookEvent, of, spanId]);

const both = (ids: readonly unknown[]): readonly unknown[] => ['PreToolUse', 'PostToolUse'].map((event) => [event, ...ids]);

test('a hook: the decision, its layer and revision, and the agent', async () => {
  const body = { tool_name: 'files.read', tool_input: { path: secret }, session_id: 's1', agent_name: 'bot' };
  const sidecar = await askHook('/govern/tool-use', body);
  const span = theSpan();
  expect(await toldOf(sidecar)).toEqual([['PreToolUse', traceId, span.spanContext().spanId]]);
  expectKept(span);
  expect(span.name).toBe('execute_tool files.read');
  expect(span.attributes).toEqual({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'files.read',
    'gen_ai.tool.type': 'function',
    'gen_ai.agent.name': 'bot',
    'tollgate.decision': 'allow',
    'tollgate.code': 'allowed',
    'tollgate.layer': 'default',
    'tollgate.revision': 1,
    'tollgate.request_id': 'id-1',
  });
  expect(span.status.code).toBe(SpanStatusCode.UNSET);
});

test('a denied call is an error with its code', async () => {
  await askHook('/govern/tool-use', { tool_name: 'mail.send', tool_input: { to: secret }, session_id: 's1' });
  const span = theSpan();
  expectKept(span);
  expect(span.attributes).toMatchObject({
    'tollgate.decision': 'deny',
    'tollgate.code': 'policy_denied',
    'tollgate.layer': 'workspace',
    'error.type': 'policy_denied',
  });
  expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
});

test('a coding agent that asks in its own format', async () => {
  const sidecar = await askHook('/hooks/claude-code', {
    hook_event_name: 'PreToolUse',
    session_id: 's1',
    tool_name: 'Bash',
    tool_input: { command: `echo ${secret}` },
  });
  const span = theSpan();
  expectKept(span);
  expect(span.attributes).toMatchObject({ 'tollgate.decision': 'allow', 'tollgate.code': 'allowed' });
  expect(await toldOf(sidecar)).toEqual([['PreToolUse', traceId, span.spanContext().spanId]]);
});

test('a call without a trace, or with an invalid one, begins its own trace', async () => {
  for (const headers of [{}, { traceparent: `00-${traceId}-${parentId}` }]) {
    exporter.reset();
    const sidecar = await askHook('/govern/tool-use', { tool_name: 'a', tool_input: {}, session_id: 's1' }, headers);
    expect(theSpan().parentSpanContext).toBeUndefined();
    const own = theSpan().spanContext();
    expect(own.traceId).not.toBe(traceId);
    expect(await toldOf(sidecar)).toEqual([['PreToolUse', own.traceId, own.spanId]]);
  }
});

test('an HTTP tool: its server receives the span and no baggage; its answer ends it', async () => {
  const { ask, reached, sidecar } = await startTool({ tracing });
  await ask({
    headers: { ...incoming, baggage: `who=${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ to: secret }),
  });
  const span = theSpan();
  expectKept(span);
  expect(reached[0]?.headers).toMatchObject({ traceparent: `00-${traceId}-${span.spanContext().spanId}-01`, tracestate: 'vendor=1' });
  expect(reached[0]?.headers['baggage']).toBeUndefined();
  expect(await toldOf(sidecar)).toEqual(both([traceId, span.spanContext().spanId]));
  expect(span.attributes).toMatchObject({ 'gen_ai.tool.name': 'billing', 'tollgate.output': 'pass' });
  expect(span.attributes['error.type']).toBeUndefined();
});

test('an HTTP tool that fails, and one that cannot be reached, are errors of the tool', async () => {
  const failing = await startTool({ tracing, answer: (_request, response) => void response.writeHead(500).end(secret) });
  await failing.ask({ headers: incoming });
  expectKept(theSpan());
  expect(theSpan().attributes).toMatchObject({ 'tollgate.decision': 'allow', 'error.type': 'tool_error' });
  exporter.reset();
  const away = await startTool({ tracing, tool: { origin: 'http://127.0.0.1:1' } });
  expect((await away.ask({ headers: incoming })).status).toBe(502);
  expect(theSpan().attributes).toMatchObject({ 'tollgate.decision': 'allow', 'error.type': 'tool_error' });
});

test('an MCP call: its server receives the span by header and by _meta; its result ends it', async () => {
  const up = await record();
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })), {}, tracing);
  await send(proxied, 's', { body: call('a', { path: secret }), headers: incoming });
  const span = theSpan();
  expectKept(span);
  expect(span.name).toBe('execute_tool s.a');
  expect(span.attributes).toMatchObject({ 'tollgate.decision': 'allow', 'tollgate.output': 'pass' });
  expect(await toldOf(proxied.sidecar)).toEqual(both([traceId, span.spanContext().spanId]));
  const traceparent = `00-${traceId}-${span.spanContext().spanId}-01`;
  const [heard] = up.heard;
  expect(heard?.headers).toMatchObject({ traceparent, tracestate: 'vendor=1' });
  expect(heard === undefined ? null : rpcOf(heard).params).toEqual({
    name: 'a',
    arguments: { path: secret },
    _meta: { traceparent, tracestate: 'vendor=1' },
  });
});

test('an MCP call that names its trace in _meta is in that trace, in the newest revision too', async () => {
  const up = await record();
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })), {}, tracing);
  const body = modernCall('a', {}) as { params: { _meta: object } };
  const other = `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`;
  Object.assign(body.params._meta, { traceparent: incoming.traceparent });
  expect((await send(proxied, 's', { body, headers: { ...modernHeaders('tools/call', 'a'), traceparent: other } })).status).toBe(200);
  const span = theSpan();
  expectKept(span);
  const [heard] = up.heard;
  expect(heard?.headers['traceparent']).toBe(`00-${traceId}-${span.spanContext().spanId}-01`);
  expect(heard === undefined ? null : rpcOf(heard).params?.['_meta']).toMatchObject({
    traceparent: heard?.headers['traceparent'],
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  });
});

test('where policy redacts, what a caller adds to its trace is not forwarded, because it can contain anything', async () => {
  const mail = 'bob@acme-mail.eu';
  const headers = { traceparent: incoming.traceparent, tracestate: `vendor=${mail}` };
  const up = await record();
  const redacting = (tool: string): World => ({ documents: [ruleFor(tool, { transform: 'redact' })] });
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })), redacting('s.a'), tracing);
  const params = { name: 'a', arguments: {}, _meta: headers };
  await send(proxied, 's', { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers });
  expect(JSON.stringify(up.heard)).not.toContain(mail);
  expect(up.heard[0]?.headers['traceparent']).toContain(traceId);
  const { ask, reached } = await startTool({ tracing, world: redacting('billing') });
  await ask({ headers });
  expect(JSON.stringify(reached)).not.toContain(mail);
  expect(reached[0]?.headers['traceparent']).toContain(traceId);
});

test('an MCP call that was denied, failed, or was not answered', async () => {
  const up = await record((heard, response) => {
    const { id, params } = rpcOf(heard);
    if (params?.['name'] === 'a')
      json(response, { jsonrpc: '2.0', id, result: { isError: true, content: [{ type: 'text', text: secret }] } });
    else response.destroy();
  });
  const world = { documents: [ruleFor('s.denied', { permission: 'deny' })] };
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })), world, tracing);
  for (const [name, type] of [
    ['a', 'tool_error'],
    ['echo', 'tool_error'],
    ['denied', 'policy_denied'],
  ] as const) {
    exporter.reset();
    await send(proxied, 's', { body: call(name, { path: secret }), headers: incoming });
    expectKept(theSpan());
    expect(theSpan().attributes['error.type']).toBe(type);
  }
});

test('an untraced call reaches its tool unchanged: with the caller’s trace, and no member of ours', async () => {
  const up = await record();
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })), { agents: [agent()] });
  await send(proxied, 's', { body: call('a', {}), headers: incoming });
  expect(up.heard[0]?.body).not.toContain('_meta');
  const { ask, reached, sidecar } = await startTool();
  await ask({ headers: incoming });
  expect(reached[0]?.headers).toMatchObject(incoming);
  expect(exporter.getFinishedSpans()).toEqual([]);
  for (const one of [proxied.sidecar, sidecar]) expect(await toldOf(one)).toEqual(both([traceId, parentId]));
});

test('without telemetry, entries contain the trace that a caller names, in _meta before headers, and none where it names none', async () => {
  const other = { traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-01` };
  const up = await record();
  const proxied = await startProxied(serversOf(overHttp('s', { url: up.url })));
  const params = { name: 'a', arguments: {}, _meta: incoming };
  await send(proxied, 's', { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, headers: other });
  expect(await toldOf(proxied.sidecar)).toEqual(both([traceId, parentId]));

  const sidecar = await createTestSidecar();
  const { app } = createTestServer(sidecar);
  const use = { tool_name: 'a', tool_input: {}, session_id: 's1' };
  const post = (path: string, payload: object, headers: object) =>
    app.inject({ method: 'POST', url: path, headers: { authorization: `Bearer ${key}`, ...headers }, payload });
  await post('/govern/tool-use', use, incoming);
  await post('/govern/tool-output', { ...use, tool_output: 'done' }, other);
  await post('/govern/tool-output', { ...use, tool_input: { unannounced: true }, tool_output: 'done' }, incoming);
  await post('/govern/tool-use', use, { traceparent: secret });
  const entries = await sidecar.entries();
  expect(entries.map(({ traceId: of, spanId }) => [of, spanId])).toEqual([
    ...[1, 2, 3].map(() => [traceId, parentId]),
    [undefined, undefined],
  ]);
  expect(Object.keys(entries.at(-1) ?? {})).not.toContain('traceId');
});

// A real run as a collector sees it: its spans go out by OTLP, its trace goes on to tool servers, and what was said goes nowhere.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { context, propagation, trace } from '@opentelemetry/api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { type StartedTelemetry, startTelemetry } from '../../control-plane/telemetry/start.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

let collector: Server;
const received: { readonly path: string; readonly text: string }[] = [];
let telemetry: StartedTelemetry;
let server: FakeServer;
let rest: RunsRest;

beforeAll(async () => {
  collector = createServer((request, response) => void collect(request, response)).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
  telemetry = await startTelemetry(process.env);
  server = await startFakeServer();
  server.pages = [[tool('read')]];
  rest = await createRunsRest({ telemetry, reach: createReach({ allowPrivate: true, commands: [] }) });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rest.close();
  await server.close();
  for (const api of [trace, context, propagation]) api.disable();
  collector.closeAllConnections();
  collector.close();
});

async function collect(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  received.push({ path: request.url ?? '', text });
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
}

const traceId = '0af7651916cd43dd8448eb211c80319c';
const secret = 'nobody-else-may-read-this';

interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: object }[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
      }[];
    }[];
  }[];
}

test('its spans are those of the conventions, in the trace of the request, and hold nothing of what was said', async () => {
  expect((await rest.ask('POST', '/acme/admin/toolServers', { body: { name: 'files', url: server.url } })).status).toBe(200);
  server.instead = ({ rpc }, response) => {
    if (rpc.method !== 'tools/call') return false;
    const result = { content: [{ type: 'text', text: secret }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result }));
    return true;
  };
  const id = await rest.createAgent({ name: 'bot', enabledTools: ['files.*'], systemPrompt: secret });
  const answer = await rest.ask('POST', `/api/v1/agents/${id}/run`, {
    body: { input: `${secret}\ncall files.read {"path":"${secret}"}`, context: { who: secret } },
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01`, baggage: 'who=ann' },
  });
  expect(answer.body).toMatchObject({ stopReason: 'goal_complete', output: expect.stringContaining(`gave: ${secret}`) });
  await telemetry.close();

  expect(received.map(({ path }) => path)).toEqual(['/v1/traces']);
  const [{ text } = { text: '' }] = received;
  expect(text).not.toContain(secret);
  expect(text).toContain('{"key":"gen_ai.provider.name","value":{"stringValue":"demo"}}');
  const { resourceSpans } = JSON.parse(text) as Sent;
  expect(resourceSpans[0]?.resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'tollgate' } });
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  const named = (name: string) => spans.find((span) => span.name === name);
  expect(spans.map(({ name }) => name).toSorted()).toEqual([
    'chat demo/echo',
    'chat demo/echo',
    'execute_tool files.read',
    'invoke_agent bot',
  ]);
  expect(spans.every((span) => span.traceId === traceId)).toBe(true);
  const run = named('invoke_agent bot');
  expect(run?.parentSpanId).toBe('b7ad6b7169203331');
  for (const span of spans) if (span !== run) expect(span.parentSpanId).toBe(run?.spanId);

  const called = server.asked.find(({ rpc }) => rpc.method === 'tools/call');
  expect(called?.headers['traceparent']).toBe(`00-${traceId}-${named('execute_tool files.read')?.spanId}-01`);
  expect(called?.headers['baggage']).toBeUndefined();
});

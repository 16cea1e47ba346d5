// A real run as a collector receives it: its spans are exported by OTLP, its trace is passed to tool servers, and its
// texts are not exported.
import { context, propagation, trace } from '@opentelemetry/api';
import { systemClock } from '@tollgate/sidecar/engine';
import { readTelemetrySettings, startTelemetry, type Telemetry } from '@tollgate/sidecar/telemetry';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { eventually } from '../support/programs.ts';
import { attributesOf, startTelemetryCollector, type TelemetryCollector } from '../support/telemetry-collector.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

let collector: TelemetryCollector;
let telemetry: Telemetry;
let server: FakeServer;
let rest: RunsRest;

beforeAll(async () => {
  collector = await startTelemetryCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
  vi.stubEnv('OTEL_LOGS_EXPORTER', 'none');
  const read = readTelemetrySettings(process.env);
  if ('problems' in read) throw new Error(read.problems.join());
  const registry = new Registry();
  telemetry = await startTelemetry(read.settings, { registry, identity: { service: 'tollgate', instance: 'one' }, clock: systemClock });
  server = await startFakeServer();
  server.pages = [[tool('read')]];
  rest = await createRunsRest({ telemetry, registry, reach: createReach({ allowPrivate: true, commands: [] }, {}) });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rest.close();
  await server.close();
  for (const api of [trace, context, propagation]) api.disable();
  await collector.close();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const secret = 'only-the-owner-may-read-this';

test('its spans follow the conventions, are in the trace of the request, and hold no text of the run', async () => {
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

  expect([...new Set(collector.received.map(({ path }) => path))].toSorted()).toEqual(['/v1/metrics', '/v1/traces']);
  for (const { text } of collector.received) expect(text).not.toContain(secret);
  const spans = collector.spans();
  expect(spans.filter((span) => attributesOf(span)['gen_ai.provider.name'] === 'demo')).toHaveLength(3);
  expect(collector.resources('/v1/traces')[0]).toMatchObject({ 'service.name': 'tollgate' });
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

  const entered = named('execute_tool files.read');
  expect(entered === undefined ? null : attributesOf(entered)).toMatchObject({ 'tollgate.decision': 'allow', 'tollgate.code': 'allowed' });
  // Spans are delivered in batches: the run's answer does not wait for them.
  const entries = await eventually(
    async () => Object((await rest.ask('GET', '/acme/admin/audit')).body).entries as readonly Readonly<Record<string, unknown>>[],
    (listed) => listed.length === 2,
  );
  for (const { requestId } of entries) expect(requestId).toBe(entered === undefined ? null : attributesOf(entered)['tollgate.request_id']);
  expect(entries.map(({ hookEvent, traceId: of, spanId }) => ({ hookEvent, of, spanId }))).toEqual([
    { hookEvent: 'PostToolUse', of: traceId, spanId: named('execute_tool files.read')?.spanId },
    { hookEvent: 'PreToolUse', of: traceId, spanId: run?.spanId },
  ]);

  const valueOf = (name: string, labels: object): unknown =>
    collector
      .metrics()
      .filter((metric) => metric.name === name)
      .flatMap(({ sum, gauge }) => (sum ?? gauge)?.dataPoints ?? [])
      .find((point) => JSON.stringify(attributesOf(point)) === JSON.stringify(labels))?.asDouble;
  expect(valueOf('tollgate_decisions_total', { decision: 'allow', code: 'allowed', layer: 'default' })).toBe(1);
  expect(valueOf('tollgate_runs_ended_total', { status: 'completed' })).toBe(1);
  expect(valueOf('tollgate_runs', { state: 'running' })).toBe(0);
  expect(valueOf('tollgate_spend_tokens_total', { provider: 'demo', model: 'echo', kind: 'input' })).toBeGreaterThan(0);
  expect(valueOf('tollgate_spend_cents_total', { provider: 'demo', model: 'echo' })).toBe(0);
});

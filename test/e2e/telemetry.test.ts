// The telemetry of both programs as a collector and Prometheus receive it: no text of a call, no key and no e-mail is
// in any of it.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ask, eventually, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { attributesOf, startTelemetryCollector, type TelemetryCollector } from '../support/telemetry-collector.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const said = 'rosebud-was-said';
const mail = 'marked-owner@acme-mail.eu';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const ended = <T extends Program>(program: T): T => {
  onTestFinished(async () => void (await program.end('SIGKILL')));
  return program;
};

async function collecting(): Promise<TelemetryCollector> {
  const collector = await startTelemetryCollector();
  onTestFinished(() => collector.close());
  return collector;
}

/** Records the requests to a tool's server. */
async function startUpstream() {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ to: said })));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('traces, metrics and logs of both programs arrive, in the trace of the caller, and contain no text of a call', async () => {
  const collector = await collecting();
  const upstream = await startUpstream();
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const plane = ended(
    await startControlPlane({ TOLLGATE_DATA_DIR: folder(), TOLLGATE_OWNER_KEY: ownerKey, TOLLGATE_OWNER_EMAIL: mail, ...otel }),
  );
  const made = await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } });
  const sidecarKey = String(made.body['key']);
  const gateway = join(folder(), 'gateway.json');
  writeFileSync(gateway, JSON.stringify({ httpTools: { billing: { url: upstream.url } } }));
  const gate = ended(
    await startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: sidecarKey,
      TOLLGATE_SPOOL_DIR: folder(),
      TOLLGATE_GATEWAY_FILE: gateway,
      TOLLGATE_METRICS_PORT: '0',
      ...otel,
    }),
  );
  await eventually(
    () => ask(`${gate.url}/readyz`, ownerKey),
    ({ status }) => status === 200,
  );
  const answer = await fetch(`${gate.url}/tools/billing/invoices?for=${said}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ownerKey}`,
      'content-type': 'application/json',
      traceparent: `00-${traceId}-${parentId}-01`,
      baggage: `who=${said}`,
    },
    body: JSON.stringify({ to: mail, note: said }),
  });
  expect([answer.status, await answer.json()]).toEqual([200, { to: said }]);

  const { body: agent } = await ask(`${plane.rest}/api/v1/agents`, ownerKey, { body: { name: 'bot', model: 'demo/echo' } });
  const run = await ask(`${plane.rest}/api/v1/agents/${String(agent['id'])}/run`, ownerKey, { body: { input: `${said} ${mail}` } });
  expect(run.body).toMatchObject({ status: 'completed' });

  const entries = await eventually(
    async () => Object((await ask(`${plane.rest}/default/admin/audit?tool=billing`, ownerKey)).body).entries as readonly object[],
    ({ length }) => length === 2,
  );

  const scraped = await (await fetch(gate.announced.get('metrics') ?? '')).text();
  expect(scraped).toContain('tollgate_decisions_total{decision="allow",code="allowed",layer="default"} 1');
  expect((await fetch((gate.announced.get('metrics') ?? '').replace('/metrics', '/healthz'))).status).toBe(404);

  expect(await gate.end('SIGTERM')).toBe(0);
  expect(await plane.end('SIGTERM')).toBe(0);

  for (const path of ['/v1/traces', '/v1/metrics', '/v1/logs'])
    expect(new Set(collector.resources(path).map((resource) => resource['service.name']))).toEqual(
      new Set(['tollgate', 'tollgate-sidecar']),
    );
  const span = collector.spans().find(({ name }) => name === 'execute_tool billing');
  expect(span).toMatchObject({ traceId, parentSpanId: parentId });
  expect(upstream.heard[0]).toMatchObject({ traceparent: `00-${traceId}-${span?.spanId}-01` });
  expect(span === undefined ? null : attributesOf(span)).toMatchObject({
    'tollgate.decision': 'allow',
    'tollgate.code': 'allowed',
    'tollgate.layer': 'default',
    'tollgate.output': 'pass',
  });
  for (const entry of entries) expect(entry).toMatchObject({ traceId, spanId: span?.spanId });
  expect(collector.spans().map(({ name }) => name)).toContain('invoke_agent bot');
  const metrics = new Set(collector.metrics().map(({ name }) => name));
  expect([...metrics]).toEqual(
    expect.arrayContaining([
      'tollgate_decisions_total',
      'tollgate_decision_seconds',
      'tollgate_spool_age_seconds',
      'tollgate_runs_ended_total',
      'tollgate_spend_cents_total',
      'tollgate_audit_records_total',
      'process_resident_memory_bytes',
    ]),
  );
  expect(collector.records().filter(({ body }) => body.stringValue === 'draining')).toHaveLength(2);

  const everything = [...collector.received.map(({ text }) => text), scraped, gate.log(), plane.log()].join('\n');
  for (const secret of [said, mail, ownerKey, sidecarKey]) expect(everything).not.toContain(secret);
});

test('a collector that never answers delays no call, and delays a stop only for a limited time', async () => {
  const collector = await collecting();
  collector.answer = () => undefined;
  const gate = ended(
    await startSidecarProgram({
      TOLLGATE_KEY: `gsk_default_${'s'.repeat(40)}`,
      TOLLGATE_CONTROL_PLANE: '127.0.0.1:1',
      TOLLGATE_SPOOL_DIR: folder(),
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    }),
  );
  expect((await ask(`${gate.url}/healthz`, ownerKey)).status).toBe(200);
  await collector.until(() => collector.received.length > 0);
  expect(await gate.end('SIGTERM')).toBe(0);
});

test('both programs refuse an unsupported protocol at the start, with the reason', async () => {
  const otel = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  const words = /ended with 2:[\s\S]*OTEL_EXPORTER_OTLP_PROTOCOL must be http\/json or absent, is "grpc"/;
  await expect(startSidecarProgram({ TOLLGATE_KEY: `gsk_default_${'s'.repeat(40)}`, ...otel })).rejects.toThrow(words);
  await expect(startControlPlane({ TOLLGATE_DATA_DIR: folder(), ...otel })).rejects.toThrow(words);
});

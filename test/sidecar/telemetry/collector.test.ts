// Telemetry of a process as a collector receives it over HTTP, and what happens where the collector is unreachable,
// slow or full.
import { context, propagation, trace } from '@opentelemetry/api';
import { pino } from 'pino';
import { Counter, Registry } from 'prom-client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../sidecar/base/clock.ts';
import { readTelemetrySettings, startTelemetry, type Telemetry } from '../../../sidecar/telemetry/index.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { attributesOf, startTelemetryCollector, type TelemetryCollector } from '../../support/telemetry-collector.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  for (const api of [trace, context, propagation]) api.disable();
});

async function startCollector(): Promise<TelemetryCollector> {
  const collector = await startTelemetryCollector();
  onTestFinished(() => collector.close());
  return collector;
}

interface StartedTelemetry {
  readonly telemetry: Telemetry;
  readonly registry: Registry;
  readonly log: pino.Logger;
  /** The lines of standard error. */
  readonly lines: string[];
}

async function start(
  url: string,
  env: Readonly<Record<string, string>> = {},
  clock: Pick<Clock, 'after'> = systemClock,
): Promise<StartedTelemetry> {
  // The SDK reads the process's environment.
  for (const [name, value] of Object.entries({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env })) vi.stubEnv(name, value);
  const read = readTelemetrySettings(process.env);
  if ('problems' in read) throw new Error(read.problems.join());
  const registry = new Registry();
  const telemetry = await startTelemetry(read.settings, { registry, identity: { service: 'tollgate-test', instance: 'one' }, clock });
  const lines: string[] = [];
  const log = pino({ level: 'info' }, telemetry.logTo({ write: (line) => void lines.push(line) }));
  telemetry.sayTo(log);
  return { telemetry, registry, log, lines };
}

const paths = (collector: TelemetryCollector): readonly string[] => [...new Set(collector.received.map(({ path }) => path))].toSorted();

test('every signal arrives, as JSON, with the same resource, and with the headers of the environment', async () => {
  const collector = await startCollector();
  const { telemetry, registry, log } = await start(collector.url, {
    OTEL_SERVICE_NAME: 'gate',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-token=abc',
  });
  new Counter({ name: 'calls_total', help: 'Calls', registers: [registry] }).inc(3);
  await telemetry.tracing.span('execute_tool', 'a', {}, async () => log.info({ tool: 'a' }, 'called'));
  telemetry.calls?.begin('b', {}).end();
  expect(await telemetry.close()).toBe(true);
  expect(paths(collector)).toEqual(['/v1/logs', '/v1/metrics', '/v1/traces']);
  for (const { headers } of collector.received) expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-token': 'abc' });
  for (const path of paths(collector))
    for (const resource of collector.resources(path))
      expect(resource).toMatchObject({
        'service.name': 'gate',
        'service.instance.id': 'one',
        'service.version': expect.stringMatching(/^\d/),
        'deployment.environment.name': 'test',
      });
  expect(collector.spans().map(({ name }) => name)).toEqual(['execute_tool a', 'execute_tool b']);
  expect(collector.metrics().find(({ name }) => name === 'calls_total')).toMatchObject({
    sum: { aggregationTemporality: 2, isMonotonic: true, dataPoints: [{ asDouble: 3 }] },
  });
  // A log line within a span has the ids of the span.
  const [record] = collector.records();
  expect(record).toMatchObject({ severityText: 'INFO', body: { stringValue: 'called' }, traceId: collector.spans()[0]?.traceId });
  expect(record === undefined ? null : attributesOf(record)).toEqual({ tool: 'a' });
});

test('a process has a default name where the environment gives it none', async () => {
  const collector = await startCollector();
  const { telemetry, log } = await start(collector.url, { OTEL_METRICS_EXPORTER: 'none', OTEL_TRACES_EXPORTER: 'none' });
  log.info('here');
  await telemetry.close();
  expect(paths(collector)).toEqual(['/v1/logs']);
  expect(collector.resources('/v1/logs')[0]).toMatchObject({ 'service.name': 'tollgate-test' });
});

test('a sampler that samples nothing sends no span, and the trace continues', async () => {
  const collector = await startCollector();
  const { telemetry } = await start(collector.url, {
    OTEL_TRACES_SAMPLER: 'always_off',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_METRICS_EXPORTER: 'none',
  });
  const span = telemetry.calls?.begin('b', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
  expect(span?.headers()['traceparent']).toMatch(new RegExp(`^00-${'a'.repeat(32)}-[0-9a-f]{16}-00$`));
  span?.end();
  await telemetry.close();
  expect(collector.received).toEqual([]);
});

test('metrics are sent without a request, at the configured interval', async () => {
  const collector = await startCollector();
  const { telemetry, registry } = await start(collector.url, {
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_LOGS_EXPORTER: 'none',
    OTEL_TRACES_EXPORTER: 'none',
  });
  const counter = new Counter({ name: 'calls_total', help: 'Calls', registers: [registry] });
  counter.inc();
  const values = (): readonly unknown[] => collector.metrics().map(({ sum }) => sum?.dataPoints[0]?.asDouble);
  await collector.until(() => values().includes(1));
  counter.inc();
  await collector.until(() => values().includes(2));
  const starts = new Set(collector.metrics().map(({ sum }) => sum?.dataPoints[0]?.startTimeUnixNano));
  expect(starts.size).toBe(1);
  await telemetry.close();
});

test('what a collector rejects temporarily is sent again, and arrives once', async () => {
  const collector = await startCollector();
  const { answer } = collector;
  collector.answer = (response) => void response.writeHead(503, { 'retry-after': '0' }).end();
  const { telemetry } = await start(collector.url, { OTEL_LOGS_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' });
  telemetry.calls?.begin('b', {}).end();
  const closing = telemetry.close();
  await collector.until(() => collector.received.length === 1);
  collector.answer = answer;
  expect(await closing).toBe(true);
  expect(collector.spans().map(({ name }) => name)).toEqual(['execute_tool b']);
});

test('an unreachable collector is logged once, loses the data for it, and has no other effect', async () => {
  const collector = await startCollector();
  await collector.close();
  const { telemetry, log, lines } = await start(collector.url, {
    OTEL_EXPORTER_OTLP_TIMEOUT: '100',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
    OTEL_TRACES_EXPORTER: 'none',
  });
  const said = new Promise<void>((done) => {
    telemetry.sayTo({ info: () => undefined, warn: (fields, words) => (log.warn(fields, words), done()) });
  });
  for (let count = 0; count < 5_000; count++) log.info({ count }, 'still here');
  await said;
  expect(await telemetry.close()).toBe(true);
  expect(lines.filter((line) => line.includes('still here'))).toHaveLength(5_000);
  const troubles = lines.filter((line) => line.includes('does not accept data'));
  expect(troubles.length).toBeGreaterThan(0);
  expect(new Set(troubles.map((line) => (JSON.parse(line) as { signal: string }).signal)).size).toBe(troubles.length);
});

test("the reason of a collector's refusal is logged, without any data that it repeats", async () => {
  const collector = await startCollector();
  collector.answer = (response) => void response.writeHead(401, 'hunter2').end('no way for hunter2');
  const onlyTraces = { OTEL_LOGS_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none', OTEL_EXPORTER_OTLP_HEADERS: 'x-token=hunter2' };
  const refused = await start(collector.url, onlyTraces);
  refused.telemetry.calls?.begin('b', {}).end();
  await refused.telemetry.close();
  expect(refused.lines.join('')).toContain('"reason":"it answered 401"');
  expect(refused.lines.join('')).not.toContain('hunter2');
  trace.disable();
  const away = await start('http://127.0.0.1:1', { ...onlyTraces, OTEL_EXPORTER_OTLP_TIMEOUT: '100' });
  away.telemetry.calls?.begin('b', {}).end();
  await away.telemetry.close();
  expect(away.lines.join('')).toContain('ECONNREFUSED');
});

test('a stop waits at most three seconds for a collector that does not answer, and no work waits for it', async () => {
  const collector = await startCollector();
  collector.answer = () => undefined;
  const clock = createManualClock();
  const { telemetry, log } = await start(collector.url, {}, clock);
  log.info('here');
  telemetry.calls?.begin('b', {}).end();
  const closed = telemetry.close();
  expect(clock.waits).toEqual([3_000]);
  clock.advance(3_000);
  expect(await closed).toBe(false);
  const idle = await start((await startCollector()).url, { OTEL_METRICS_EXPORTER: 'none' }, clock);
  expect(await idle.telemetry.close()).toBe(true);
  expect(clock.waits).toEqual([]);
});

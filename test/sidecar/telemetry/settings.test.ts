import { expect, test } from 'vitest';
import { readTelemetrySettings } from '../../../sidecar/telemetry/settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const onIn = (env: Readonly<Record<string, string>>): readonly string[] => {
  const read = readTelemetrySettings(env);
  return 'problems' in read ? ['problems'] : [...read.settings.on];
};
const problemsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
  const read = readTelemetrySettings(env);
  return 'problems' in read ? read.problems : [];
};

test('nothing is sent until an endpoint is named, then everything that is not switched off', () => {
  expect(onIn({})).toEqual([]);
  expect(onIn({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toEqual([]);
  expect(onIn(endpoint)).toEqual(['traces', 'metrics', 'logs']);
  expect(onIn({ ...endpoint, OTEL_LOGS_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'otlp' })).toEqual(['traces', 'metrics']);
  expect(onIn({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics/v1/metrics' })).toEqual(['metrics']);
});

test('telemetry can be switched off as a whole, whatever else is set', () => {
  expect(onIn({ ...endpoint, OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toEqual([]);
  expect(onIn({ ...endpoint, OTEL_SDK_DISABLED: 'false' })).toHaveLength(3);
});

test('metrics are sent each minute, or at the configured interval', () => {
  expect(readTelemetrySettings(endpoint)).toMatchObject({ settings: { metricIntervalMs: 60_000 } });
  expect(readTelemetrySettings({ ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: '5000' })).toMatchObject({
    settings: { metricIntervalMs: 5_000 },
  });
  expect(problemsOf({ ...endpoint, OTEL_METRIC_EXPORT_INTERVAL: '5s' })).toEqual([
    'OTEL_METRIC_EXPORT_INTERVAL must be milliseconds from 100 to 86400000, is "5s"',
  ]);
});

test('an unsupported protocol is rejected once with a message, but not for a signal that is off', () => {
  for (const protocol of ['grpc', 'http/protobuf']) {
    const problems = problemsOf({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: protocol });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^OTEL_EXPORTER_OTLP_PROTOCOL must be http/json or absent, is "${protocol}"`));
  }
  expect(problemsOf({ ...endpoint, OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc' })).toHaveLength(1);
  expect(problemsOf({ ...endpoint, OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: 'grpc', OTEL_LOGS_EXPORTER: 'none' })).toEqual([]);
  expect(problemsOf({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toEqual([]);
  expect(onIn({ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })).toHaveLength(3);
});

test('an invalid address is rejected without being repeated, because it can contain a password', () => {
  const problems = problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'user:hunter2@collector:4318' });
  expect(problems).toEqual(['OTEL_EXPORTER_OTLP_ENDPOINT must be an address that begins with http:// or https://']);
});

test.each([
  ['OTEL_EXPORTER_OTLP_HEADERS', 'hunter2'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=hunter2'],
  ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', 'token=hunter2%zz'],
  ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zstd'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '10s'],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
])('%s=%s, which the SDK would ignore without a message, is rejected once', (name, value) => {
  const problems = problemsOf({ ...endpoint, [name]: value });
  expect(problems).toEqual([expect.stringMatching(new RegExp(`^${name} must be `))]);
  expect(problems.join()).not.toContain('hunter2');
});

test('a share of traces is a number from 0 to 1; a valid or empty value is accepted unchanged', () => {
  const ratio = { ...endpoint, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' };
  expect(problemsOf({ ...ratio, OTEL_TRACES_SAMPLER_ARG: '10%' })).toHaveLength(1);
  expect(onIn({ ...ratio, OTEL_TRACES_SAMPLER_ARG: '0.1' })).toHaveLength(3);
  const ways = {
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a=, x=,',
    OTEL_EXPORTER_OTLP_TIMEOUT: '',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
  };
  expect(onIn({ ...endpoint, ...ways })).toHaveLength(3);
});

test('an unavailable exporter is rejected, and for Prometheus the message names its place', () => {
  expect(problemsOf({ ...endpoint, OTEL_METRICS_EXPORTER: 'prometheus' })).toEqual([
    'OTEL_METRICS_EXPORTER must be otlp or none, is "prometheus"; Prometheus can read /metrics with any setting',
  ]);
  expect(problemsOf({ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' })).toEqual(['OTEL_TRACES_EXPORTER must be otlp or none, is "zipkin"']);
});

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { produceFrom } from '../../../sidecar/telemetry/metric-producer.ts';
import { createResource } from '../../../sidecar/telemetry/resource.ts';

type CollectResult = Awaited<ReturnType<ReturnType<typeof produceFrom>['collect']>>;
type MetricData = CollectResult['resourceMetrics']['scopeMetrics'][number]['metrics'][number];

async function produced(registry: Registry): Promise<ReadonlyMap<string, MetricData>> {
  let wallTime = 1_000_500;
  const producer = produceFrom(registry, createResource({ service: 'test', instance: 'one' }), () => (wallTime += 1_000));
  const { resourceMetrics } = await producer.collect();
  return new Map(resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics).map((one) => [one.descriptor.name, one] as const));
}

test('a counter is a cumulative sum that only grows, since the start, with its labels as attributes', async () => {
  const registry = new Registry();
  const counter = new Counter({ name: 'calls_total', help: 'Calls', labelNames: ['code', 'status'], registers: [registry] });
  counter.inc({ code: 'a', status: 200 }, 2);
  counter.inc({ code: 'b', status: 500 });
  expect((await produced(registry)).get('calls_total')).toMatchObject({
    descriptor: { description: 'Calls', unit: '' },
    aggregationTemporality: 1,
    dataPointType: 3,
    isMonotonic: true,
    dataPoints: [
      { attributes: { code: 'a', status: '200' }, value: 2, startTime: [1_001, 500_000_000], endTime: [1_002, 500_000_000] },
      { attributes: { code: 'b', status: '500' }, value: 1 },
    ],
  });
});

test('a gauge has its current value, and a value that is not a number is left out', async () => {
  const registry = new Registry();
  new Gauge({ name: 'spool_bytes', help: 'Bytes', registers: [registry] }).set(7);
  new Gauge({ name: 'spool_bytes_max', help: 'Bytes', registers: [registry] }).set(9);
  new Gauge({ name: 'mean', help: 'Of nothing', registers: [registry] }).set(Number.NaN);
  const metrics = await produced(registry);
  expect(metrics.get('spool_bytes')).toMatchObject({ descriptor: { unit: 'By' }, dataPointType: 2, dataPoints: [{ value: 7 }] });
  expect(metrics.get('spool_bytes_max')).toMatchObject({ descriptor: { unit: 'By' } });
  expect(metrics.has('mean')).toBe(false);
});

test('a histogram has its bounds, the count of each bucket, sum and count, for each set of labels', async () => {
  const registry = new Registry();
  const histogram = new Histogram({
    name: 'took_seconds',
    help: 'Took',
    labelNames: ['route'],
    buckets: [0.1, 1, 5],
    registers: [registry],
  });
  for (const value of [0.05, 0.5, 0.6, 9]) histogram.observe({ route: '/a' }, value);
  histogram.observe({ route: '/b' }, 2);
  const metric = (await produced(registry)).get('took_seconds');
  expect(metric).toMatchObject({ descriptor: { unit: 's' }, aggregationTemporality: 1, dataPointType: 0 });
  expect(metric?.dataPoints.map(({ attributes, value }) => ({ attributes, value }))).toEqual([
    { attributes: { route: '/a' }, value: { buckets: { boundaries: [0.1, 1, 5], counts: [1, 2, 0, 1] }, sum: 10.15, count: 4 } },
    { attributes: { route: '/b' }, value: { buckets: { boundaries: [0.1, 1, 5], counts: [0, 0, 1, 0] }, sum: 2, count: 1 } },
  ]);
});

test('the metrics of Node itself are included', async () => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const names = [...(await produced(registry)).keys()];
  expect(names).toEqual(
    expect.arrayContaining(['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_eventloop_lag_seconds']),
  );
  const kinds = new Set((await registry.getMetricsAsJSON()).map(({ type }) => String(type)));
  expect([...kinds].toSorted()).toEqual(['counter', 'gauge', 'histogram']);
});

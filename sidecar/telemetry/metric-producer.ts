// Converts the Prometheus registry to OpenTelemetry metrics, with the same names and values as at `/metrics`. Counters
// are cumulative sums since the start of the process, histograms have their buckets, and labels are attributes.
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Resource } from '@opentelemetry/resources';
import type { MetricObjectWithValues, MetricValue, MetricValueWithName, Registry } from 'prom-client';

type Labels = Readonly<Record<string, string | number | undefined>>;
type Sample = MetricValue<string> & Partial<MetricValueWithName<string>>;

const scope = { name: 'tollgate' };

/**
 * `wallTime`: returns ms since 1970. All metrics get the creation time of the producer as their start time. Therefore
 * the registry must not be older than the producer.
 */
export function produceFrom(registry: Registry, resource: Resource, wallTime: () => number): MetricProducer {
  const startTime = timeOf(wallTime());
  return {
    collect: async () => {
      const endTime = timeOf(wallTime());
      const all = await registry.getMetricsAsJSON();
      const metrics = all.flatMap((one) => metricOf(one, { startTime, endTime }));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    },
  };
}

const timeOf = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1_000_000)];

interface Between {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** Returns an empty list if the metric has no value yet, or has an unsupported type. */
function metricOf({ name, help, type, values }: MetricObjectWithValues<MetricValue<string>>, between: Between): readonly MetricData[] {
  const descriptor = { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  // At run time prom-client's types are strings, although its declarations differ.
  switch (String(type)) {
    case 'counter': {
      const dataPoints = pointsOf(values, between);
      return dataPoints.length === 0 ? [] : [{ ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
    }
    case 'gauge': {
      const dataPoints = pointsOf(values, between);
      return dataPoints.length === 0 ? [] : [{ ...common, dataPointType: DataPointType.GAUGE, dataPoints }];
    }
    case 'histogram': {
      const dataPoints = histogramsOf(name, values, between);
      return dataPoints.length === 0 ? [] : [{ ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints }];
    }
    default:
      return [];
  }
}

// JSON cannot represent values that are not finite, such as a mean of no values.
const pointsOf = (values: readonly Sample[], between: Between): DataPoint<number>[] =>
  values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...between, attributes: attributesOf(labels), value }));

const attributesOf = (labels: Labels): Attributes => Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));

/**
 * Returns the unit of a metric. Counts have no unit: if a gauge had the unit 1, a Prometheus-compatible collector would
 * name it a ratio.
 */
const unitOf = (name: string): string => (/_seconds(?:_total)?$/.test(name) ? 's' : /_bytes(?:_total|_max)?$/.test(name) ? 'By' : '');

function histogramsOf(name: string, values: readonly Sample[], between: Between): DataPoint<Histogram>[] {
  const byLabels = new Map<string, { readonly labels: Labels; readonly samples: Sample[] }>();
  for (const sample of values) {
    const { le: _, ...labels }: Labels = sample.labels;
    const key = JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const known = byLabels.get(key) ?? { labels, samples: [] };
    known.samples.push(sample);
    byLabels.set(key, known);
  }
  return [...byLabels.values()].map(({ labels, samples }) => ({
    ...between,
    attributes: attributesOf(labels),
    value: histogramOf(name, samples),
  }));
}

function histogramOf(name: string, samples: readonly Sample[]): Histogram {
  const valueOf = (suffix: string): number => samples.find(({ metricName }) => metricName === `${name}${suffix}`)?.value ?? 0;
  const count = valueOf('_count');
  const cumulative = samples
    .flatMap(({ labels: { le }, value }): readonly (readonly [number, number])[] => (typeof le === 'number' ? [[le, value]] : []))
    .toSorted(([a], [b]) => a - b);
  const upTo = [...cumulative.map(([, value]) => value), count];
  return {
    buckets: { boundaries: cumulative.map(([bound]) => bound), counts: upTo.map((value, at) => value - (upTo[at - 1] ?? 0)) },
    sum: valueOf('_sum'),
    count,
  };
}

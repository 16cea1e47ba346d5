// Sends all metrics of the registry to a collector, periodically and once more at the end.
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import type { Resource } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import type { Registry } from 'prom-client';
import { type ExportListener, reportExports } from './health.ts';
import { produceFrom } from './metric-producer.ts';

const timeoutMsMax = 30_000;

export function sendMetrics(registry: Registry, intervalMs: number, resource: Resource, told: ExportListener): { close(): Promise<void> } {
  const reader = new PeriodicExportingMetricReader({
    exporter: reportExports(new OTLPMetricExporter(), told),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(timeoutMsMax, intervalMs),
    metricProducers: [produceFrom(registry, resource, Date.now)],
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  return { close: () => provider.shutdown() };
}

// Sends spans to a collector. Spans that the collector does not accept in time are dropped. The SDK itself reads the
// settings for sampler, limits and headers.
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import type { Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { type ExportListener, reportExports } from './health.ts';
import { createSpans, type Spans } from './spans.ts';

export function sendTraces(resource: Resource, told: ExportListener): Spans & { close(): Promise<void> } {
  const provider = new NodeTracerProvider({
    resource,
    spanProcessors: [new BatchSpanProcessor(reportExports(new OTLPTraceExporter(), told))],
  });
  provider.register();
  return { ...createSpans(provider.getTracer('tollgate')), close: () => provider.shutdown() };
}

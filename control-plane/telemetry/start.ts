// Telemetry of a process: off, unless the environment says where spans are to be sent, by the variables of OpenTelemetry itself
// (`OTEL_EXPORTER_OTLP_ENDPOINT`, `…_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_TRACES_SAMPLER`, …), which the SDK reads. Spans are
// sent in batches, besides the work; a collector that is away costs spans and nothing else.
import { setTimeout as delay } from 'node:timers/promises';
import { untraced } from '../runs/tracing.ts';
import { createTelemetry, type Telemetry } from './tracing.ts';

export interface StartedTelemetry extends Telemetry {
  /** Sends what there is, for a few seconds at most. */
  close(): Promise<void>;
}

const off: StartedTelemetry = { tracing: untraced, inTrace: (_headers, work) => work(), close: () => Promise.resolve() };
const endpoints = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const;
const closeMs = 3_000;

/** The SDK is loaded where it is needed only. */
export async function startTelemetry(env: Readonly<Record<string, string | undefined>>): Promise<StartedTelemetry> {
  if (endpoints.every((name) => (env[name] ?? '') === '') || env['OTEL_SDK_DISABLED'] === 'true') return off;
  const { BatchSpanProcessor, NodeTracerProvider } = await import('@opentelemetry/sdk-trace-node');
  const { OTLPTraceExporter } = await import('@opentelemetry/exporter-trace-otlp-http');
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await import('@opentelemetry/resources');
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'tollgate' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return {
    ...createTelemetry(provider.getTracer('tollgate')),
    close: () => within(closeMs, provider.shutdown()),
  };
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const late = new AbortController();
  try {
    await Promise.race([work, delay(ms, undefined, { signal: late.signal })]);
  } finally {
    late.abort();
  }
}

// A collector of all three kinds over OTLP/HTTP in JSON. It keeps the requests that it received, and answers as a test
// says.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}
interface WithAttributes {
  readonly attributes: readonly Attribute[];
}
export interface SentSpan extends WithAttributes {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
}
interface SentPoint extends WithAttributes {
  readonly startTimeUnixNano: string;
  readonly asDouble?: number;
}
export interface SentMetric {
  readonly name: string;
  readonly sum?: { readonly aggregationTemporality: number; readonly isMonotonic: boolean; readonly dataPoints: readonly SentPoint[] };
  readonly gauge?: { readonly dataPoints: readonly SentPoint[] };
  readonly histogram?: { readonly dataPoints: readonly SentPoint[] };
}
export interface SentRecord extends WithAttributes {
  readonly severityText: string;
  readonly body: { readonly stringValue: string };
  readonly traceId?: string;
}
interface Part {
  readonly resource: WithAttributes;
  readonly scopeSpans?: readonly { readonly spans: readonly SentSpan[] }[];
  readonly scopeMetrics?: readonly { readonly metrics: readonly SentMetric[] }[];
  readonly scopeLogs?: readonly { readonly logRecords: readonly SentRecord[] }[];
}

interface ExportRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** It was answered with 200. */
  taken: boolean;
}

export interface TelemetryCollector {
  readonly url: string;
  /** Every request, also those that were not accepted. */
  readonly received: readonly ExportRequest[];
  /** Accepts by default; without an answer the collector is slow. */
  answer: (response: ServerResponse) => void;
  /** Of accepted requests, as all functions below. */
  spans(): readonly SentSpan[];
  metrics(): readonly SentMetric[];
  records(): readonly SentRecord[];
  resources(path: string): readonly Readonly<Record<string, unknown>>[];
  /** Resolves once `holds` is true; checked whenever something was received. */
  until(holds: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export const attributesOf = ({ attributes }: WithAttributes): Readonly<Record<string, unknown>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

export async function startTelemetryCollector(): Promise<TelemetryCollector> {
  const received: ExportRequest[] = [];
  const waiting = new Set<() => void>();
  const lookAgain = (): void => {
    for (const look of waiting) look();
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const one: ExportRequest = { path: request.url ?? '', headers: request.headers, text, taken: false };
      received.push(one);
      response.on('finish', () => {
        one.taken = response.statusCode === 200;
        lookAgain();
      });
      collector.answer(response);
      lookAgain();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const partsOf = (path: string): readonly Part[] =>
    received
      .filter((one) => one.taken && one.path === path)
      .flatMap(({ text }) => Object.values(JSON.parse(text) as Readonly<Record<string, readonly Part[]>>).flat());
  const collector: TelemetryCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
    spans: () => partsOf('/v1/traces').flatMap(({ scopeSpans = [] }) => scopeSpans.flatMap(({ spans }) => spans)),
    metrics: () => partsOf('/v1/metrics').flatMap(({ scopeMetrics = [] }) => scopeMetrics.flatMap(({ metrics }) => metrics)),
    records: () => partsOf('/v1/logs').flatMap(({ scopeLogs = [] }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
    resources: (path) => partsOf(path).map(({ resource }) => attributesOf(resource)),
    until: (holds) =>
      new Promise((done) => {
        const look = (): void => {
          if (!holds()) return;
          waiting.delete(look);
          done();
        };
        waiting.add(look);
        look();
      }),
    close: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((done) => server.close(done));
    },
  };
  return collector;
}

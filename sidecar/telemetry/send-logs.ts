// Sends log lines to a collector. A bounded number of lines wait to be sent. Further lines are dropped, and so are the
// lines of a failed export.
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import type { Resource } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { type ExportListener, reportExports } from './health.ts';
import { type LogStream, teeLogs } from './log-stream.ts';

export function sendLogs(
  resource: Resource,
  told: ExportListener,
): { readonly logTo: (stderr: LogStream) => LogStream; close(): Promise<void> } {
  const provider = new LoggerProvider({
    resource,
    processors: [new BatchLogRecordProcessor({ exporter: reportExports(new OTLPLogExporter(), told) })],
  });
  const logger = provider.getLogger('tollgate');
  return { logTo: (stderr) => teeLogs(stderr, logger), close: () => provider.shutdown() };
}

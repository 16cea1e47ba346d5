// Builds the export of audit entries: a collector, the records for it, and the exporter that sends them.
import type { Registry } from 'prom-client';
import { createDelivery } from '../audit/export/delivery.ts';
import { createExportMetrics, watchExport } from '../audit/export/metrics.ts';
import { collectorFrom } from '../audit/export/settings.ts';
import type { Config } from './config.ts';
import { createExporter, type Exporter, type ExporterDeps } from '../audit/export/exporter.ts';
import type { Undo } from '../base/undo.ts';

interface WireAuditExportDeps extends Pick<ExporterDeps, 'pool' | 'readingPool' | 'clock' | 'random' | 'log'> {
  readonly config: Pick<Config, 'auditExportEndpoint' | 'auditExportHeaders'>;
  readonly registry: Registry;
}

/** Null: the configuration contains no export. Its HTTP client is loaded only if it contains one. */
export async function wireAuditExport({ config, registry, ...deps }: WireAuditExportDeps, undo: Undo): Promise<Exporter | null> {
  if (config.auditExportEndpoint === null) return null;
  const { createCollector } = await import('../audit/export/collector.ts');
  const collector = createCollector(collectorFrom(config.auditExportEndpoint, config.auditExportHeaders), Date.now);
  undo.push(() => collector.close());
  const exporter = createExporter({
    ...deps,
    deliver: createDelivery(collector),
    metrics: createExportMetrics(registry),
    now: () => performance.now(),
  });
  undo.push(() => exporter.close());
  watchExport(registry, exporter, Date.now);
  return exporter;
}

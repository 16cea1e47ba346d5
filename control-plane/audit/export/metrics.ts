// Metrics of the export of audit entries, for `/metrics`. Every control plane shows how far the export is behind, from
// the common database. Sent records and failures are those of this process.
import { Counter, Gauge, type Registry } from 'prom-client';

interface WatchedExport {
  readonly isSending: boolean;
  readonly lag: { readonly records: number; readonly since: Date | null };
}

const failureKinds = ['unreachable', 'timeout', 'throttled', 'unavailable', 'refused', 'database'] as const;

export function createExportMetrics(registry: Registry) {
  const registers = [registry];
  const exported = new Counter({
    name: 'tollgate_audit_export_records_total',
    help: 'Audit records that the collector accepted',
    registers,
  });
  const lost = new Counter({
    name: 'tollgate_audit_export_lost_records_total',
    help: 'Items of audit logs that were removed before they could be exported',
    registers,
  });
  const rejected = new Counter({
    name: 'tollgate_audit_export_rejected_records_total',
    help: 'Audit records that the collector rejected in requests that it accepted',
    registers,
  });
  const failures = new Counter({
    name: 'tollgate_audit_export_failures_total',
    help: 'Attempts to export audit entries that failed; all are repeated',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of failureKinds) failures.inc({ reason }, 0);
  return {
    exported: (records: number) => exported.inc(records),
    lost: (records: number) => lost.inc(records),
    rejected: (records: number) => rejected.inc(records),
    failed: (kind: string) => failures.inc({ reason: kind }),
  };
}

export function watchExport(registry: Registry, watched: WatchedExport, wallTime: () => number): void {
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('tollgate_audit_export_lag_records', 'Items of all audit logs that are not exported yet', () => watched.lag.records);
  gauge('tollgate_audit_export_age_seconds', 'Age of the oldest audit entry that is not exported yet', () =>
    watched.lag.since === null ? 0 : Math.max(0, (wallTime() - watched.lag.since.getTime()) / 1000),
  );
  gauge('tollgate_audit_export_sending', 'Whether this control plane exports the audit entries', () => Number(watched.isSending));
}

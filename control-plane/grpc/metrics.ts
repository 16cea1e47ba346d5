// What the gRPC edge counts, for `/metrics`.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface GrpcMetrics {
  connected(): void;
  disconnected(): void;
  /** Ms since the revision was raised. */
  sent(ms: number): void;
  acknowledged(ms: number): void;
  refused(code: string): void;
  ingested(records: number): void;
}

const nackCodesMax = 20;

export function createGrpcMetrics(registry: Registry): GrpcMetrics {
  const registers = [registry];
  const sidecars = new Gauge({ name: 'tollgate_sidecars_connected', help: 'Sidecars with an open policy stream', registers });
  const since = (name: string, help: string): Histogram =>
    new Histogram({ name, help, buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5], registers });
  const sent = since('tollgate_revision_sent_seconds', 'From a revision raised to its snapshot sent, for each sidecar');
  const acks = since('tollgate_revision_acknowledged_seconds', 'From a revision raised to its acknowledgement, for each sidecar');
  const nacks = new Counter({
    name: 'tollgate_snapshots_refused_total',
    help: 'Snapshots that a sidecar refused, by code',
    labelNames: ['code'],
    registers,
  });
  const records = new Counter({ name: 'tollgate_audit_records_total', help: 'Audit records acknowledged', registers });
  const codes = new Set<string>();
  return {
    connected: () => sidecars.inc(),
    disconnected: () => sidecars.dec(),
    sent: (ms) => sent.observe(ms / 1000),
    acknowledged: (ms) => acks.observe(ms / 1000),
    refused: (code) => {
      // The code is the sidecar's word: it may not grow our label set.
      const known = codes.has(code) || (codes.size < nackCodesMax && /^[a-z_]{1,40}$/.test(code));
      if (known) codes.add(code);
      nacks.inc({ code: known ? code : 'other' });
    },
    ingested: (count) => records.inc(count),
  };
}

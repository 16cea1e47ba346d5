// The counters of the gRPC edge, for `/metrics`.

import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type RefusedCode, refusedCodes } from '@tollgate/proto/contract';
import { lags } from '../sidecars/rules/sidecar.ts';
import type { QuotaMetrics } from '../quota/operations/ledger.ts';

export interface GrpcMetrics {
  connected(): void;
  disconnected(): void;
  /** `ms`: the time since the revision was raised. */
  sent(ms: number): void;
  acknowledged(ms: number): void;
  refused(code: string): void;
  /** Records that are new in the log. */
  ingested(records: number): void;
  /** A batch of which nothing was accepted. */
  batchRefused(code: RefusedCode): void;
  /** A stream of leases was opened (1) or closed (-1). */
  leaseStreams(change: 1 | -1): void;
  /** A sidecar opened (1) or closed (-1) its stream of approvals. */
  approvalStreams(change: 1 | -1): void;
  /** A connection was opened (1) or closed (-1). */
  connections(change: 1 | -1): void;
  connectionRefused(why: ConnectionRefusal): void;
  readonly quota: QuotaMetrics;
}

/**
 * Why a connection was refused. `connections`: there are too many. `strangers`: there are too many unauthenticated
 * connections in total. `network`: there are too many unauthenticated connections from one network. `no_key`: there was
 * no valid key within the time limit.
 */
export type ConnectionRefusal = 'connections' | 'strangers' | 'network' | 'no_key';

/**
 * Exports the number of connected sidecars, grouped by the number of revisions that they are behind. The sidecars are
 * counted when the metrics are read.
 */
export const exportRoster = (registry: Registry, count: () => ReadonlyMap<string, number>): Gauge<'revisions'> =>
  new Gauge({
    name: 'tollgate_sidecars_by_lag',
    help: 'Connected sidecars, by the revisions that they are behind',
    labelNames: ['revisions'],
    registers: [registry],
    collect() {
      const counts = count();
      for (const revisions of lags) this.set({ revisions }, counts.get(revisions) ?? 0);
    },
  });

const nackCodesMax = 20;

export function createGrpcMetrics(registry: Registry): GrpcMetrics {
  const registers = [registry];
  const sidecars = new Gauge({ name: 'tollgate_sidecars_connected', help: 'Sidecars with an open policy stream', registers });
  const since = (name: string, help: string): Histogram =>
    new Histogram({ name, help, buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5], registers });
  const sent = since('tollgate_revision_sent_seconds', 'Time from a new revision to sending its snapshot, for each sidecar');
  const acks = since('tollgate_revision_acknowledged_seconds', 'Time from a new revision to its acknowledgement, for each sidecar');
  const nacks = new Counter({
    name: 'tollgate_snapshots_refused_total',
    help: 'Snapshots that a sidecar refused, by code',
    labelNames: ['code'],
    registers,
  });
  const records = new Counter({ name: 'tollgate_audit_records_total', help: 'Audit records that were committed', registers });
  const batches = new Counter({
    name: 'tollgate_audit_batches_refused_total',
    help: `Batches that were refused, by code: ${refusedCodes.join(', ')}`,
    labelNames: ['code'],
    registers,
  });
  const leases = new Gauge({ name: 'tollgate_lease_streams', help: 'Sidecars with an open stream of leases', registers });
  const approvals = new Gauge({
    name: 'tollgate_approval_streams',
    help: 'Sidecars with an open stream of approvals',
    registers,
  });
  const connections = new Gauge({ name: 'tollgate_grpc_connections', help: 'Open gRPC connections', registers });
  const refusedConnections = new Counter({
    name: 'tollgate_grpc_connections_refused_total',
    help: 'gRPC connections that were refused, or closed because no key came, by reason: connections, strangers, network, no_key',
    labelNames: ['why'],
    registers,
  });
  const codes = new Set<string>();
  return {
    connected: () => sidecars.inc(),
    disconnected: () => sidecars.dec(),
    sent: (ms) => sent.observe(ms / 1000),
    acknowledged: (ms) => acks.observe(ms / 1000),
    refused: (code) => {
      // The sidecar chooses the code. It must not add unlimited labels.
      const known = codes.has(code) || (codes.size < nackCodesMax && /^[a-z_]{1,40}$/.test(code));
      if (known) codes.add(code);
      nacks.inc({ code: known ? code : 'other' });
    },
    ingested: (count) => records.inc(count),
    batchRefused: (code) => batches.inc({ code }),
    leaseStreams: (change) => leases.inc(change),
    approvalStreams: (change) => approvals.inc(change),
    connections: (change) => connections.inc(change),
    connectionRefused: (why) => refusedConnections.inc({ why }),
    quota: createQuotaMetrics(registers),
  };
}

function createQuotaMetrics(registers: Registry[]): QuotaMetrics {
  const asks = new Counter({
    name: 'tollgate_lease_asks_total',
    help: 'Asks for leases, by answer: grant, full, later, none, taken',
    labelNames: ['result'],
    registers,
  });
  const tokens = new Counter({ name: 'tollgate_lease_tokens_granted_total', help: 'Calls that were granted', registers });
  const falseClaims = new Counter({ name: 'tollgate_lease_lies_total', help: 'Messages of asks with impossible claims', registers });
  const demands = new Counter({
    name: 'tollgate_lease_demands_total',
    help: 'Asks that were not allowed: for another subject, for one that does not exist, or for more counters than a key may have',
    registers,
  });
  const transactions = new Histogram({
    name: 'tollgate_lease_transaction_seconds',
    help: 'Time of a transaction of the ledger, which may answer several sidecars',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers,
  });
  return {
    answered: (answers) => {
      for (const { result } of answers) {
        asks.inc({ result: result.kind });
        if (result.kind === 'grant') tokens.inc(result.tokens);
      }
    },
    falseClaim: () => falseClaims.inc(),
    committed: (ms) => transactions.observe(ms / 1000),
    demanded: (asks) => demands.inc(asks),
  };
}

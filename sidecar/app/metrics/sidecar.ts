// Exports the metrics of a sidecar process at `/metrics`. The values are read from the parts of the sidecar at each
// scrape.
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Sidecar } from '../../doors/sidecar.ts';
import { countDecisions, type DecisionMetrics } from '../../telemetry/decision-metrics.ts';
import { gaugesIn, totalsIn } from './gauges.ts';

export function exportSidecar(registry: Registry, sidecar: Sidecar): DecisionMetrics {
  const registers = [registry];
  const gauge = gaugesIn(registry);
  const total = totalsIn(registry);
  gauge('tollgate_policy_revision', 'Revision of the policy held', () => sidecar.cell.status().revision ?? -1);
  gauge(
    'tollgate_policy_age_seconds',
    'Seconds since the last message of the control plane',
    () => (sidecar.cell.status().ageMs ?? 0) / 1000,
  );
  gauge('tollgate_policy_connected', '1 while the policy stream is open', () => Number(sidecar.cell.status().connected));
  gauge('tollgate_policy_outage', '1 while the outage rule of the workspace decides', () => Number(sidecar.cell.status().outage));
  const clockAhead =
    'How far the clock of this machine is ahead of that of the control plane, in seconds; negative: behind; 0 until it is known';
  gauge('tollgate_clock_ahead_seconds', clockAhead, () => (sidecar.cell.status().clockAheadMs ?? 0) / 1000);
  total('tollgate_outage_decisions_total', 'Decisions made by a policy older than the outage rule allows', () => sidecar.outageDecisions);
  gauge('tollgate_spools_refused', 'Spools that the control plane refuses', () => sidecar.shipping().refusedSpools);
  gauge('tollgate_spool_records', 'Entries that the control plane has not acknowledged', () => sidecar.shipping().records);
  gauge('tollgate_spool_bytes', 'Bytes of the spool on disk', () => sidecar.shipping().bytes);
  const oldest = (): number => sidecar.shipping().oldestAgeMs / 1000;
  gauge('tollgate_spool_age_seconds', 'Age of the oldest entry that the control plane has not acknowledged; 0 where there is none', oldest);
  const unrecorded = 'Decisions whose entries could not be written; their calls were denied, unless the workspace allows otherwise';
  total('tollgate_unrecorded_decisions_total', unrecorded, () => sidecar.unrecorded);
  const unconfirmed = 'Decisions answered before the control plane had committed their entries, which TOLLGATE_DURABILITY=remote asks for';
  total('tollgate_unconfirmed_decisions_total', unconfirmed, () => sidecar.unconfirmed);
  gauge('tollgate_leases', 'Limits and runs with a lease now', () => sidecar.leasing.status().counters);
  gauge('tollgate_lease_link', '1 while leases can be requested', () => Number(sidecar.leasing.status().link === 'open'));
  gauge('tollgate_lease_waiting', 'Calls that wait for a lease now', () => sidecar.leasing.status().waiting);
  total(
    'tollgate_lease_dry_denials_total',
    'Calls denied because their lease had no calls left',
    () => sidecar.leasing.status().dryDenials,
  );
  exportCertificate(registry, sidecar);
  exportApprovals(registry, sidecar);
  total(
    'tollgate_lease_calls_granted_total',
    'Calls of limits and runs that leases granted to this process',
    () => sidecar.leasing.status().granted,
  );
  total('tollgate_lease_calls_used_total', 'Leased calls that were made', () => sidecar.leasing.status().used);
  const leaseWaits = new Histogram({
    name: 'tollgate_lease_wait_seconds',
    help: 'How long calls waited for a lease',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25],
    registers,
  });
  sidecar.leasing.onWaited((ms) => leaseWaits.observe(ms / 1000));
  const decided = countDecisions(registry);
  const unauthenticated = new Counter({
    name: 'tollgate_unauthenticated_total',
    help: 'Requests refused for a key that is missing, not valid or without the scope',
    registers,
  });
  const throttled = new Counter({
    name: 'tollgate_throttled_requests_total',
    help: 'Requests refused because their key exceeded its requests a second',
    registers,
  });
  return {
    decided,
    unauthenticated: () => unauthenticated.inc(),
    throttled: () => throttled.inc(),
  };
}

function exportApprovals(registry: Registry, { approvals }: Pick<Sidecar, 'approvals'>): Counter<'answer'> | null {
  if (approvals === null) return null;
  const gauge = gaugesIn(registry);
  const total = totalsIn(registry);
  gauge('tollgate_approval_link', '1 while people can be asked; 0 also before the first question', () =>
    Number(approvals.status().link === 'open'),
  );
  gauge('tollgate_approval_held_calls', 'Calls that wait for a person now', () => approvals.status().held);
  gauge('tollgate_approval_held_bytes', 'Bytes of the calls that wait for a person now', () => approvals.status().heldBytes);
  total('tollgate_approvals_asked_total', 'Questions about calls that were sent to the control plane', () => approvals.status().asked);
  return new Counter({
    name: 'tollgate_approval_answers_total',
    help: 'Calls that policy asks a person for, by the answer that they met',
    labelNames: ['answer'],
    registers: [registry],
    collect() {
      const status = approvals.status();
      this.reset();
      for (const answer of ['approved', 'denied', 'expired', 'unavailable'] as const) this.inc({ answer }, status[answer]);
    },
  });
}

// Exports the time at which the sidecar's certificate for its control plane expires. The metric is absent if the
// sidecar presents no certificate.

export function exportCertificate(registry: Registry, { linkCredentials }: Pick<Sidecar, 'linkCredentials'>): Gauge<'certificate'> | null {
  if (linkCredentials === null) return null;
  return new Gauge({
    name: 'tollgate_certificate_expires_seconds',
    help: 'When a certificate expires, in seconds since 1970',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      const { expiresAt } = linkCredentials;
      if (expiresAt !== null) this.set({ certificate: 'client' }, expiresAt / 1000);
    },
  });
}

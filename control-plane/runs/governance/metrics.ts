// Exports the combined metrics of all sidecars of this process at `/metrics`, under the names that a remote sidecar
// uses.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Governor } from './governor.ts';

export function exportGovernor(registry: Registry, governor: Pick<Governor, 'shipping' | 'leasing' | 'unrecorded' | 'dryDenials'>): void {
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  const total = (name: string, help: string, read: () => number): Counter =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  const sum = (of: 'records' | 'bytes') => (): number => [...governor.shipping().values()].reduce((all, status) => all + status[of], 0);
  gauge('tollgate_spool_records', 'Entries of runs that are not in the audit log yet', sum('records'));
  gauge('tollgate_spool_bytes', 'Bytes of the spools of runs on disk', sum('bytes'));
  const oldest = (): number => Math.max(0, ...[...governor.shipping().values()].map(({ oldestAgeMs }) => oldestAgeMs));
  gauge('tollgate_spool_age_seconds', 'Age of the oldest entry of runs that is not in the audit log yet', () => oldest() / 1000);
  const leased = (of: 'counters' | 'waiting') => (): number => governor.leasing().reduce((all, status) => all + status[of], 0);
  gauge('tollgate_leases', 'Limits and runs of which calls are leased to runs and hooks of this process', leased('counters'));
  gauge('tollgate_lease_waiting', 'Calls of this process that wait for a lease now', leased('waiting'));
  total('tollgate_lease_dry_denials_total', 'Calls of this process denied because a lease had run dry', () => governor.dryDenials);
  total(
    'tollgate_unrecorded_decisions_total',
    'Decisions of runs whose entries could not be written; their calls were denied, unless the workspace allows otherwise',
    () => governor.unrecorded,
  );
}

// Exports the bounds for the other metrics of a sidecar process, so that an alert does not need its configuration. It
// also exports whether the process can serve.
import type { Registry } from 'prom-client';
import type { Sidecar } from '../../doors/sidecar.ts';
import { gaugesIn } from './gauges.ts';

type Bounded = Pick<Sidecar, 'cell' | 'notReady'>;

export function exportBounds(registry: Registry, sidecar: Bounded, spoolBytesMax: number): void {
  const gauge = gaugesIn(registry);
  gauge('tollgate_ready', '1 while it can serve, as /readyz says', () => Number(sidecar.notReady().length === 0));
  gauge('tollgate_spool_bytes_max', 'Bytes that the spool may grow to before calls are denied', () => spoolBytesMax);
  const staleness = 'Since when the control plane may not have been heard from until the outage rule decides; none while no policy is held';
  gauge('tollgate_policy_age_max_seconds', staleness, () => sidecar.cell.current?.settings.outage.maxStalenessSeconds ?? Number.NaN);
}

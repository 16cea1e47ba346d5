// Some metrics of a sidecar process have a maximum. This code exports these maximums, so that an alert does not need to
// know how the process is configured. It also exports whether the process can serve.
import type { Registry } from 'prom-client';
import type { Sidecar } from '../../doors/sidecar.ts';
import { gaugesIn } from './gauges.ts';

type BoundedSidecar = Pick<Sidecar, 'cell' | 'notReady'>;

export function exportBounds(registry: Registry, sidecar: BoundedSidecar, spoolBytesMax: number): void {
  const gauge = gaugesIn(registry);
  gauge('tollgate_ready', '1 while the sidecar can serve, the same as /readyz', () => Number(sidecar.notReady().length === 0));
  gauge('tollgate_spool_bytes_max', 'Bytes that the spool may grow to before calls are denied', () => spoolBytesMax);
  const staleness = 'Seconds without a message of the control plane after which the outage rule decides; NaN while no policy is held';
  gauge('tollgate_policy_age_max_seconds', staleness, () => sidecar.cell.current?.settings.outage.maxStalenessSeconds ?? Number.NaN);
}

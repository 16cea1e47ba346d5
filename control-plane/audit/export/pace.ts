// The times of the export of audit entries, in ms.
import type { SetbackPace } from './setbacks.ts';

export interface Pace extends SetbackPace {
  /**
   * The duration of the lease. If a sending control plane no longer responds, the others must wait this long before one
   * of them sends.
   */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** How often the sending control plane looks for new items. */
  readonly lookMs: number;
  readonly lagMs: number;
  /** If entries wait longer than this, there is a warning, whichever control plane sends. */
  readonly lateMs: number;
  /** Maximum time for pending work when the exporter closes. */
  readonly closeMs: number;
}

export const standardPace: Pace = {
  leaseMs: 3_000,
  renewMs: 1_000,
  lookMs: 500,
  lagMs: 5_000,
  lateMs: 300_000,
  closeMs: 2_000,
  againMs: 1_000,
  againMsMax: 30_000,
  refusedMs: 60_000,
  retryAfterMsMax: 3_600_000,
};

// The periodic jobs that every control plane runs, in every configuration. Each job is safe when two processes run it
// at the same time. A job that fails does not stop the jobs after it.

import { expireDue, removeOldApprovals } from '../approvals/operations/expire.ts';
import { loggable } from '../base/loggable.ts';
import { removeExpiredSessions } from '../access/operations/remove-expired-sessions.ts';
import { makeDueCheckpoints } from '../audit/operations/checkpoint.ts';
import { maintainPartitions, updateStatistics } from '../audit/operations/maintain-partitions.ts';
import { removeOldChanges } from '../workspaces/operations/remove-old-changes.ts';
import type { ResealChore } from '../tool-servers/operations/reseal-chore.ts';
import type { OperationDeps } from '../access/operation.ts';
import { removeUnusedCounters } from '../quota/operations/remove-unused-counters.ts';
import { type CrowdedKeys, removeExcessCounters } from '../quota/operations/remove-excess-counters.ts';
import { removeOldRuns } from '../runs/operations/liveness/remove-old-runs.ts';
import { removeOldSidecars } from '../sidecars/operations/remove-old-sidecars.ts';
import { catchUpCounts } from '../statistics/operations/catch-up.ts';
import type { Undo } from '../base/undo.ts';

const hourMs = 3_600_000;
const minuteMs = 60_000;

interface ChoreDeps extends OperationDeps {
  /** Whether audit entries are exported. If they are, entries that were not yet exported are kept longer. */
  readonly isExporting: boolean;
  readonly resealChore: Pick<ResealChore, 'run'>;
  readonly crowded: CrowdedKeys;
  readonly log: Parameters<typeof maintainPartitions>[0]['log'] & Parameters<typeof makeDueCheckpoints>[0]['log'];
}

/** The job, and the log message if it fails. */
type Chore = readonly [run: () => Promise<unknown>, failed: string];

/** Starts the periodic jobs. Rejects if there is no partition for today, because then no entry can be recorded. */
export async function startChores(deps: ChoreDeps, retentionDays: number, undo: Undo): Promise<void> {
  const { log, isExporting, resealChore } = deps;
  const oldRuns: Chore = [() => removeOldRuns(deps, retentionDays), 'old runs were not removed'];
  const sealed: Chore = [
    () => resealChore.run(),
    'values that are encrypted with older keys of TOLLGATE_SECRET_KEY were not encrypted again',
  ];
  const inTurn = async (chores: readonly Chore[]): Promise<void> => {
    for (const [run, failed] of chores) await run().catch((error: unknown) => log.error(loggable(error), failed));
  };
  const every = (ms: number, chores: readonly Chore[]): void => {
    const timer = setInterval(() => void inTurn(chores), ms);
    undo.push(() => clearInterval(timer));
  };
  await maintainPartitions(deps, retentionDays, isExporting);
  const messages: Chore = [() => deps.approvals.deliveries.startIfNeeded(), 'messages about approvals are not sent'];
  const uncounted = alongside((stopped) => catchUpCounts(deps, stopped), 'entries that an earlier version stored were not counted', {
    log,
    undo,
  });
  await inTurn([oldRuns, sealed, messages, uncounted]);
  every(hourMs, [
    oldRuns,
    [() => maintainPartitions(deps, retentionDays, isExporting), 'partitions of the audit log were not created or removed'],
    [() => removeExpiredSessions(deps), 'expired sessions were not removed'],
    [() => removeOldSidecars(deps), 'sidecars that disconnected long ago were not removed'],
    [() => removeOldChanges(deps), 'old changes of workspaces were not removed'],
    [() => removeUnusedCounters(deps), 'unused quota counters were not removed'],
    [() => removeOldApprovals(deps, retentionDays), 'old approvals were not removed'],
    [() => deps.approvals.deliveries.removeOld(), 'old messages about approvals were not removed'],
  ]);
  every(minuteMs, [
    [() => makeDueCheckpoints(deps), 'checkpoints were not made'],
    [() => updateStatistics(deps), 'statistics of the audit log were not updated'],
    uncounted,
    [() => expireDue(deps), 'approvals whose time is over were not ended'],
    messages,
    [() => removeExcessCounters(deps), 'counters beyond the share of a key were not removed'],
    sealed,
  ]);
}

/**
 * A job that can take many minutes, so the start and the other jobs do not wait for it. A turn that comes while it runs is
 * left out.
 */
function alongside(
  run: (stopped: AbortSignal) => Promise<void>,
  failed: string,
  { log, undo }: { readonly log: ChoreDeps['log']; readonly undo: Undo },
): Chore {
  const stopping = new AbortController();
  let running: Promise<void> | null = null;
  const start = async (): Promise<void> => {
    running ??= run(stopping.signal)
      .catch((error: unknown) => log.error(loggable(error), failed))
      .finally(() => {
        running = null;
      });
  };
  undo.push(async () => {
    stopping.abort();
    await running;
  });
  return [start, failed];
}

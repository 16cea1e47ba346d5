// Decides when to retry a collector. A temporary failure blocks all logs for a time that grows with each failure and is
// at least the time that the collector asks for. A refused request blocks only its own log, for a long time. The
// exporter never gives up on a log.
import type { ExportFailure, FailureKind } from '../rules/exported.ts';

export interface SetbackPace {
  /** The time to wait after a first failure. It doubles with each further failure. */
  readonly againMs: number;
  readonly againMsMax: number;
  readonly refusedMs: number;
  /** The longest time that a collector can ask us to wait. */
  readonly retryAfterMsMax: number;
}

interface Clock {
  /** A monotonic clock, in ms. */
  readonly now: () => number;
  readonly random: () => number;
}

interface Setback {
  readonly until: number;
  readonly count: number;
  readonly kind: FailureKind;
  readonly reason: string;
}

export interface Setbacks {
  /** Whether no log may be tried now. */
  areAllBarred(): boolean;
  /** Workspaces whose logs must not be tried now. */
  barred(): readonly number[];
  /** Records a failure. Returns the time until the next try, in ms. */
  failed(workspaceId: number, failure: ExportFailure): number;
  succeeded(workspaceId: number): void;
  /** Problems, one line each, for people; empty if there are none. */
  problems(): readonly string[];
  /** Forgets all failures. Called when this control plane stops sending. */
  clear(): void;
}

/**
 * If a log is not tried again for this time after its wait has ended, its setback is forgotten. For example, the log
 * may no longer exist.
 */
const forgetMs = 600_000;

export function createSetbacks({ now, random }: Clock, pace: SetbackPace): Setbacks {
  let all: Setback | null = null;
  const refused = new Map<number, Setback>();
  const forget = (): void => {
    for (const [id, { until }] of refused) if (until + forgetMs < now()) refused.delete(id);
  };
  const jittered = (ms: number): number => ms * (0.5 + random() / 2);

  const bar = (before: Setback | null | undefined, { kind, reason, retryAfterMs }: ExportFailure): Setback => {
    // Requests that were pending at the same time fail together. This counts as one failure.
    const count = (before?.count ?? 0) + (before === null || before === undefined || before.until <= now() ? 1 : 0);
    const ms = kind === 'refused' ? pace.refusedMs : Math.min(pace.againMsMax, pace.againMs * 2 ** Math.min(count - 1, 30));
    const asked = Math.min(retryAfterMs ?? 0, pace.retryAfterMsMax);
    return { until: now() + Math.max(asked, jittered(ms)), count, kind, reason };
  };

  return {
    areAllBarred: () => all !== null && all.until > now(),
    barred: () => {
      forget();
      return [...refused].flatMap(([id, { until }]) => (until > now() ? [id] : []));
    },
    failed: (workspaceId, failure) => {
      const setback = bar(failure.kind === 'refused' ? refused.get(workspaceId) : all, failure);
      if (failure.kind === 'refused') refused.set(workspaceId, setback);
      else all = setback;
      return setback.until - now();
    },
    succeeded: (workspaceId) => {
      all = null;
      refused.delete(workspaceId);
    },
    problems: () => [
      ...(all === null ? [] : [`${all.reason} (tried ${times(all.count)})`]),
      ...[...new Set([...refused.values()].map(({ reason }) => reason))].map((reason) => {
        const of = [...refused.values()].filter((one) => one.reason === reason);
        return `${reason} (${of.length === 1 ? 'one workspace' : `${of.length} workspaces`}, retried at intervals)`;
      }),
    ],
    clear: () => {
      all = null;
      refused.clear();
    },
  };
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

// The time of day at the control plane, and whether the clock of this machine agrees with it. Keys expire, and conditions
// are evaluated, by the time of the control plane, so a machine whose clock is wrong decides like all others.
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Freshness } from '../decide/decision.ts';

interface ComparedClock {
  readonly clock: Pick<Clock, 'wallTime'>;
  readonly cell: { readonly freshness: Freshness };
}

/**
 * Returns the time of day at the control plane, in ms since 1970. Before the first heartbeat since the start it is the
 * time of this machine. While the control plane is away, it is computed from the difference that was measured last.
 */
export const planeTime = ({ clock, cell }: ComparedClock): number => clock.wallTime() + (cell.freshness.aheadMs ?? 0);

// A clock that was never set shows 1970, or the day on which its machine was made.
const notSetBefore = Date.UTC(2025, 0, 1);
const latestMs = 8.64e15;
// A larger change is not the delay of a message. One of the clocks was set.
const driftMsMax = 2_000;

/**
 * Returns how far the control plane is ahead of this machine, in ms, after one more measurement. Small changes come from
 * the delay of messages, so they are averaged. Undefined: the clock of the control plane was never set, and that of this
 * machine is used. `timeMs`: the time of the control plane. `wallTime`: that of this machine.
 */
export function measuredAhead(held: number | undefined, timeMs: number, wallTime: number): number | undefined {
  if (timeMs < notSetBefore || timeMs > latestMs) return undefined;
  const measured = timeMs - wallTime;
  return held === undefined || Math.abs(measured - held) > driftMsMax ? measured : held + (measured - held) / 8;
}

/** A larger difference is reported. NTP keeps clocks within some ms of each other. */
const differenceMsMax = 60_000;
/**
 * The difference must have been measured for this time. A process that was suspended reads the messages of before first,
 * which show an old time.
 */
const lastingMs = 3_000;

interface WatchedClock extends ComparedClock {
  readonly clock: Pick<Clock, 'now' | 'wallTime'>;
  readonly log: Log;
}

/**
 * Reports once if the two clocks differ by more than a minute, and once if they agree again. Call the returned function
 * after each message of the control plane.
 */
export function createClockWatch({ cell, clock, log }: WatchedClock): () => void {
  let since: number | null = null;
  let isReported = false;
  return () => {
    const { connected, aheadMs = 0 } = cell.freshness;
    if (!connected) return;
    if (Math.abs(aheadMs) <= differenceMsMax) {
      since = null;
      if (isReported) log.info({}, 'the clock of this machine agrees with that of the control plane again');
      isReported = false;
      return;
    }
    since ??= clock.now();
    if (isReported || clock.now() - since < lastingMs) return;
    isReported = true;
    const wallTime = clock.wallTime();
    log.warn(
      {
        clockAheadSeconds: Math.round(0 - aheadMs / 1000),
        here: isoOf(wallTime),
        controlPlane: isoOf(wallTime + aheadMs),
      },
      'the clock of this machine differs from that of the control plane by more than a minute; keys expire by the time of the control plane, but entries carry the time of this machine: set its clock',
    );
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

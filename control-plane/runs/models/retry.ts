// Tries again what failed for a while: with growing pauses of random length, so that many do not come back at once, and never before
// the provider asks to be asked again.
import type { Failure } from './failure.ts';

export interface Waiting {
  /** Rejects when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Milliseconds of the wall clock: providers may name a time of it. */
  readonly now: () => number;
}

const attemptsMax = 5;
const pauseMs = 500;
const pauseMsMax = 10_000;
/** Whoever asks for a longer pause than this is not asked again. */
const retryAfterMsMax = 60_000;

interface Asked {
  readonly signal: AbortSignal;
  /** Hears whether an attempt is under way; between two of them nobody bills anything. */
  readonly underWay: (is: boolean) => void;
}

/** Rejects with the signal's reason, or with the error of the last failure. */
export async function retry<T>(
  attempt: () => Promise<T>,
  failureOf: (error: unknown) => Failure,
  { signal, underWay }: Asked,
  waiting: Waiting,
): Promise<T> {
  for (let failed = 0; ; failed += 1) {
    try {
      signal.throwIfAborted();
      underWay(true);
      return await attempt();
    } catch (thrown) {
      signal.throwIfAborted();
      const { error, passing, retryAfterMs } = failureOf(thrown);
      if (!passing || failed + 1 === attemptsMax || (retryAfterMs ?? 0) > retryAfterMsMax) throw error;
      underWay(false);
      await pause((retryAfterMs ?? 0) + pauseAfter(failed, waiting.random()), signal, waiting);
    }
  }
}

async function pause(ms: number, signal: AbortSignal, { wait }: Waiting): Promise<void> {
  await wait(ms, signal).catch(() => {});
  signal.throwIfAborted();
}

/** At least half of a length that doubles. */
const pauseAfter = (failed: number, random: number): number => Math.min(pauseMsMax, pauseMs * 2 ** failed) * (0.5 + random / 2);

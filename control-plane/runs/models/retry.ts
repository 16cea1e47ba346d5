// Retries failed attempts with growing pauses of random length, so that many clients do not retry at the same time. It
// never retries earlier than the provider asks.
import type { Failure } from './failure.ts';

export interface RetryTimer {
  /** Rejects when the signal is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  /**
   * Returns the time in ms since 1970. A wall clock is needed, because a provider may name a date at which the pause
   * ends.
   */
  readonly now: () => number;
}

const attemptsMax = 5;
const pauseMs = 500;
const pauseMsMax = 10_000;
/** If a provider asks for a longer pause than this, there is no retry. */
const retryAfterMsMax = 60_000;

interface ProviderAttempt {
  readonly signal: AbortSignal;
  /**
   * Called with true when an attempt begins, and with false when it has failed and a pause begins. Nothing is billed
   * during a pause.
   */
  readonly underWay: (is: boolean) => void;
}

/** Rejects with the signal's reason, or with the error of the last failure. */
export async function retry<T>(
  attempt: () => Promise<T>,
  failureOf: (error: unknown) => Failure,
  { signal, underWay }: ProviderAttempt,
  waiting: RetryTimer,
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

async function pause(ms: number, signal: AbortSignal, { wait }: RetryTimer): Promise<void> {
  await wait(ms, signal).catch(() => {});
  signal.throwIfAborted();
}

/**
 * Returns a random pause in ms, from half of a maximum to the whole maximum. The maximum doubles with each failure, up
 * to `pauseMsMax`.
 */
const pauseAfter = (failed: number, random: number): number => Math.min(pauseMsMax, pauseMs * 2 ** failed) * (0.5 + random / 2);

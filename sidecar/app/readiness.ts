// Answers whether a sidecar can serve, and why not. `start.ts` creates it, and reports each change of the link, of the
// link's certificate and of the policy.
import { AppError } from '@tollgate/proto/contract';
import type { Clock } from '../base/clock.ts';
import type { Spool } from '../engine/spool/spool.ts';
import type { Follower } from '../engine/link/follow.ts';
import type { LeaseKeeper } from '../engine/link/lease-keeper.ts';
import type { LinkCredentials } from '../engine/link/tls/credentials.ts';
import type { PolicyCell } from '../engine/snapshot/cell.ts';

interface ReadinessParts {
  readonly cell: PolicyCell;
  readonly clock: Pick<Clock, 'now' | 'wallTime' | 'after'>;
  readonly leasing: Pick<LeaseKeeper, 'status' | 'onOpened'>;
  readonly spool: Pick<Spool, 'failure'>;
  /** Null: the link has no credentials of its own. */
  readonly linkCredentials: LinkCredentials | null;
  readonly controlPlane: string;
}

/** How long after the start the stream for limits and caps is awaited. */
const leasesWaitMs = 5_000;

export class Readiness {
  /** Replaced when the sidecar begins to follow its control plane. */
  follower: Follower = { problem: 'not connected yet', told: false, close: () => undefined };
  readonly #parts: ReadinessParts;
  /** Functions that are called at each change, for callers that wait for policy. */
  readonly #listeners = new Set<() => void>();
  /** True: the stream for limits and caps has not opened since the start, and the time to await it is not over. */
  #isLeaseStreamAwaited: boolean;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
    this.#isLeaseStreamAwaited = parts.leasing.status().link !== 'open';
    const awaited = (): void => {
      this.#isLeaseStreamAwaited = false;
      this.changed();
    };
    parts.leasing.onOpened(awaited);
    parts.clock.after(leasesWaitMs, awaited).unref();
  }

  changed(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Returns why the sidecar cannot serve. Empty: it can serve. */
  notReady(): readonly string[] {
    const { cell, spool } = this.#parts;
    return [
      ...(cell.current === null ? [`no policy is held: ${this.#linkProblem() ?? 'none was received'}`] : []),
      ...(cell.refused === null ? [] : [`the control plane refuses the key: ${cell.refused}`]),
      ...(this.#awaitsLeases() ? ['the stream for limits and caps is not open yet'] : []),
      ...(spool.failure === undefined ? [] : [`the spool cannot be written: ${spool.failure}`]),
    ];
  }

  /**
   * Resolves when the sidecar holds the best policy that is available now, and can lease limits. At the time-out,
   * resolves if the sidecar holds any policy, and rejects if it holds none.
   */
  async ready(timeoutMs: number): Promise<void> {
    if (!this.#isComplete()) await this.#waitUntilComplete(timeoutMs);
    if (this.#parts.cell.current === null) throw this.#noPolicy(timeoutMs);
  }

  async #waitUntilComplete(timeoutMs: number): Promise<void> {
    let listener = (): void => {};
    await new Promise<void>((done) => {
      const timer = setTimeout(done, timeoutMs);
      listener = () => {
        if (!this.#isComplete()) return;
        clearTimeout(timer);
        done();
      };
      this.#listeners.add(listener);
    });
    this.#listeners.delete(listener);
  }

  /**
   * Returns whether the held policy is the best one that is available now. This is true if the control plane has
   * reported which policy is current, or if it cannot be reached.
   */
  #isComplete(): boolean {
    const problem = this.#linkProblem();
    const isAwaited = !this.follower.told && (problem === null || problem === 'not connected yet');
    return this.#parts.cell.current !== null && !isAwaited && !this.#awaitsLeases();
  }

  /**
   * Returns whether the stream for limits and caps is still awaited after the start. Without it the first calls would be
   * denied, although their limits have calls left. It is awaited for some seconds, while the control plane answers.
   */
  #awaitsLeases(): boolean {
    return this.#isLeaseStreamAwaited && this.follower.problem === null;
  }

  #noPolicy(timeoutMs: number): AppError {
    const why = this.#linkProblem() ?? 'the stream is open, but no policy has arrived';
    return new AppError({
      code: 'unavailable',
      publicMessage: `no policy arrived from ${this.#parts.controlPlane} within ${timeoutMs} ms: ${why}`,
    });
  }

  /**
   * Returns the problem of the link. If the certificate has a problem, returns that problem instead, because it is the
   * cause of the link's problem.
   */
  #linkProblem(): string | null {
    const { linkCredentials, clock } = this.#parts;
    const { problem } = this.follower;
    if (problem === null || linkCredentials === null) return problem;
    const isGood = linkCredentials.current !== null && (linkCredentials.expiresAt ?? Number.POSITIVE_INFINITY) > clock.wallTime();
    return isGood ? problem : (linkCredentials.problem ?? problem);
  }
}

// Counts the calls of one run that other processes may serve too. Together, all processes may make `maxToolCalls`
// calls. If the ledger cannot be reached, this process counts the run alone on two conditions: no other process is
// known to serve the run, and the workspace permits it. The used calls are reported as soon as the ledger can be
// reached.
import type { Dry, LeasedCounter, SharedCalls, Undo } from '../decide/decision.ts';
import type { Lease } from './lease.ts';
import type { Leases, SharedRun } from './leases.ts';

export class SharedRunCalls implements SharedCalls {
  readonly #leases: Leases;
  readonly #lease: Lease;
  /** The result of the last check: whether this process counts the calls of the run alone, without the ledger. */
  isAlone = false;
  #policy: object;
  /** True: the control plane was away when the last call was taken. */
  #isOwed = false;

  constructor(leases: Leases, run: SharedRun) {
    this.#leases = leases;
    this.#policy = leases.policy;
    this.#lease = leases.ofRun(run);
  }

  get beganAt(): number {
    return this.#lease.beganAt;
  }

  hasCapacity(max: number, now: number, mayCountAlone: boolean): boolean {
    if (this.#policy !== this.#leases.policy) {
      this.#policy = this.#leases.policy;
      this.#lease.policyChanged();
    }
    this.#lease.limitTo(max);
    const isHeld = this.#lease.hasCapacity(now);
    // Calls that cannot be reported now are kept until they can be reported. This needs an active lease (`canTouch`).
    this.isAlone = !isHeld && mayCountAlone && this.#isKnownHereAlone(now) && this.#leases.isGone && this.#leases.canTouch(this.#lease);
    return isHeld || this.isAlone;
  }

  isSpent(now: number): boolean {
    return this.#lease.isFull(now);
  }

  awaits(now: number): readonly LeasedCounter[] | null {
    return this.#leases.isAway || !this.#leases.touch(this.#lease, now) ? null : [this.#lease];
  }

  dryAt(now: number): Dry {
    return this.#leases.dryOf([this.#lease], now);
  }

  take(now: number): void {
    this.#leases.touch(this.#lease, now);
    this.#isOwed = !this.#lease.hasCapacity(now);
    if (this.#isOwed) this.#lease.owe(now);
    else this.#lease.take(now);
  }

  /** Returns the undo of the call that was taken last. `takenAt` is the time when it was taken. */
  undoOf(takenAt: number): Undo {
    return this.#isOwed ? this.#lease.undoOwed() : this.#lease.undoOf(takenAt);
  }

  #isKnownHereAlone(now: number): boolean {
    return !this.#lease.shared && !this.#lease.isFull(now);
  }

  /** Returns whether the lease holds nothing and has nothing to report: the ledger knows all calls of the run. */
  isSettled(now: number): boolean {
    return this.#lease.isIdle(now);
  }

  /** Gives back the calls that are held, for a run that is forgotten. */
  release(): void {
    this.#lease.giveUp();
  }
}

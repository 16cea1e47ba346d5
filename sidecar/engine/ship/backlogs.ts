// Manages everything that this process ships: its own spool while the process lives, and the spools of dead processes,
// from their adoption until they are acknowledged to the end. It searches for spools of dead processes at the start and
// every `adoptEveryMs`. It searches more often while there may be more of them than it can hold at one time. Part of
// the shipper.
import type { Clock, Timer } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import type { Backlog, BacklogStatus } from '../spool/backlog.ts';

export interface Backlogs {
  /** The backlogs that are not refused. */
  readonly open: readonly Backlog[];
  /** True: nothing is left to ship, except in spools that the control plane refuses. */
  readonly isShipped: boolean;
  /** Call this when something of this backlog was acknowledged. */
  settle(backlog: Backlog): void;
  /**
   * Call this when the control plane accepts nothing of this backlog. The backlog stays on disk and is tried again
   * later.
   */
  refuse(backlog: Backlog, code: string): void;
  status(): BacklogsStatus;
  /** Bytes on disk of the adopted spools. */
  readonly adoptedBytes: number;
  stopAdopting(): void;
  close(): Promise<void>;
}

interface BacklogsStatus extends BacklogStatus {
  /** Number of adopted spools. */
  readonly adopted: number;
  /**
   * Spools that the control plane refuses, and their unacknowledged records. A refused spool of a dead process is in no
   * other figure. The process's own spool is also in the other figures.
   */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
}

export interface BacklogsDeps {
  /** Adopts at most `max` spools of dead processes. `isLeft` returns whether a spool must not be taken for now. */
  readonly adopt: (max: number, isLeft: (id: string) => boolean) => Promise<readonly Backlog[]>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onAdopted: (backlog: Backlog) => void;
  readonly onRetired: (backlog: Backlog) => void;
}

interface BacklogsConfig {
  /** The spool of this process. */
  readonly spool: Backlog;
  readonly adoptEveryMs: number;
}

/** The maximum number of adopted spools. Each backlog keeps a few file descriptors open. */
const adoptedMax = 16;
/** The wait before the next search when there may be more spools than could be taken. */
const adoptSoonMs = 1_000;
/**
 * A refused spool stays refused until a person has fixed the cause, for example with a restore. The own spool is
 * retried sooner, because it is needed.
 */
const refusedMs = { own: 30_000, adopted: 600_000 };

export function createBacklogs(deps: BacklogsDeps, config: BacklogsConfig): Backlogs {
  return new ShippedBacklogs(deps, config);
}

class ShippedBacklogs implements Backlogs {
  #all: readonly Backlog[];
  #lostBefore = 0;
  // The sum is stored, because it is read at each write and changes much less often.
  #adoptedBytes = 0;
  /** The adopted spools whose grants the ledger does not know yet. */
  readonly #unsettled = new Set<Backlog>();
  /** The number of unacknowledged records, by the ids of refused spools. */
  readonly #refused = new Map<string, number>();
  #isStopped = false;
  #timer: Timer | undefined;
  #retiring = Promise.resolve();
  #adopting: Promise<void>;
  readonly #deps: BacklogsDeps;
  readonly #spool: Backlog;
  readonly #adoptEveryMs: number;
  readonly #clock: BacklogsDeps['clock'];
  readonly #log: BacklogsDeps['log'];

  constructor(deps: BacklogsDeps, { spool, adoptEveryMs }: BacklogsConfig) {
    const { clock, log } = deps;
    this.#deps = deps;
    this.#spool = spool;
    this.#adoptEveryMs = adoptEveryMs;
    this.#clock = clock;
    this.#log = log;
    this.#all = [spool];
    this.#adopting = this.#adopt();
  }

  get open(): readonly Backlog[] {
    return this.#all.filter(({ id }) => !this.#refused.has(id));
  }

  get isShipped(): boolean {
    return this.#all.every((backlog) => isShipped(backlog) || this.#refused.has(backlog.id));
  }

  get adoptedBytes(): number {
    return this.#adoptedBytes;
  }

  stopAdopting(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async close(): Promise<void> {
    await this.#adopting;
    await this.#retiring;
    for (const backlog of this.#all) await this.#close(backlog);
  }

  settle(backlog: Backlog): void {
    if (backlog === this.#spool) return;
    this.#countAdopted();
    if (isShipped(backlog) && !this.#unsettled.has(backlog) && this.#all.includes(backlog)) this.#retire(backlog);
  }

  refuse(backlog: Backlog, code: string): void {
    const { id } = backlog;
    const { records } = backlog.status();
    const againMs = backlog === this.#spool ? refusedMs.own : refusedMs.adopted;
    this.#refused.set(id, records);
    this.#log.warn({ spool: id, code, records, againMs }, 'the control plane refuses this spool; it is kept on disk');
    if (backlog !== this.#spool) this.#retire(backlog);
    const again = this.#clock.after(againMs, () => {
      this.#refused.delete(id);
      if (backlog === this.#spool) this.#deps.onAdopted(this.#spool);
    });
    again.unref();
  }

  status(): BacklogsStatus {
    const each = this.#all.map((backlog) => backlog.status());
    const oldest = each.flatMap(({ oldestAt }) => oldestAt ?? []);
    return {
      records: each.reduce((sum, { records }) => sum + records, 0),
      bytes: each.reduce((sum, { bytes }) => sum + bytes, 0),
      oldestAt: oldest.length > 0 ? Math.min(...oldest) : undefined,
      lost: each.reduce((sum, { lost }) => sum + lost, this.#lostBefore),
      adopted: this.#all.length - 1,
      refusedSpools: this.#refused.size,
      refusedRecords: [...this.#refused.values()].reduce((sum, records) => sum + records, 0),
    };
  }

  async #adopt(): Promise<void> {
    const free = adoptedMax - (this.#all.length - 1);
    const found = free > 0 ? await this.#deps.adopt(free, (id) => this.#refused.has(id)).catch((error) => this.#adoptionFailed(error)) : [];
    for (const backlog of found) {
      this.#all = [...this.#all, backlog];
      this.#deps.onAdopted(backlog);
      this.#awaitSettled(backlog);
      this.settle(backlog);
    }
    if (this.#isStopped) return;
    const mayBeMore = found.length >= free;
    this.#timer = this.#clock.after(mayBeMore ? Math.min(adoptSoonMs, this.#adoptEveryMs) : this.#adoptEveryMs, () => {
      this.#adopting = this.#adopt();
    });
    this.#timer.unref();
  }

  #awaitSettled(backlog: Backlog): void {
    if (backlog.settled === null) return;
    this.#unsettled.add(backlog);
    void backlog.settled.then(() => {
      this.#unsettled.delete(backlog);
      this.settle(backlog);
    });
  }

  #adoptionFailed(error: unknown): readonly Backlog[] {
    this.#log.warn({ error: String(error) }, 'the folder of the spools could not be searched');
    return [];
  }

  #countAdopted(): void {
    this.#adoptedBytes = this.#all.reduce((sum, backlog) => (backlog === this.#spool ? sum : sum + backlog.status().bytes), 0);
  }

  #retire(backlog: Backlog): void {
    this.#all = this.#all.filter((other) => other !== backlog);
    this.#countAdopted();
    // A refused spool will be read again, so its losses are not counted yet.
    if (isShipped(backlog)) this.#lostBefore += backlog.status().lost;
    this.#deps.onRetired(backlog);
    this.#retiring = this.#retiring.then(() => this.#close(backlog));
  }

  async #close(backlog: Backlog): Promise<void> {
    await backlog
      .close()
      .catch((error: unknown) => this.#log.warn({ spool: backlog.id, error: String(error) }, 'a spool could not be closed'));
  }
}

function isShipped(backlog: Backlog): boolean {
  return backlog.acknowledged >= backlog.last;
}

// Ships every entry of the spool folder to the control plane: the entries of this process and those that dead processes
// left. The sidecar creates the shipper at its start. Entries are deleted from disk only when the control plane has
// committed them, so each entry arrives. The control plane skips entries that it already has, so each is stored once.
//
// States: connecting, then connected (see `shipment.ts`), then waiting (with backoff), then connecting again. A server
// that refuses the key is tried again at the slowest pace, and the entries are kept. Closing: shipping continues until
// everything is acknowledged, the key is refused or the deadline passes. Closed: what is left is for the next process.
import { status as grpcStatus } from '@grpc/grpc-js';
import { bounds } from '@tollgate/proto/contract';
import { type Backoff, barredMs, createBackoff } from '../../base/backoff.ts';
import type { Backlog } from '../spool/backlog.ts';
import { type Backlogs, type BacklogsDeps, createBacklogs } from './backlogs.ts';
import { createShipment, type Shipment, type ShipmentConfig, type ShipmentEnd, type ShipStream } from './shipment.ts';

export interface Shipper {
  status(): ShipperStatus;
  /** Bytes on disk that dead processes left and this one ships. */
  readonly adoptedBytes: number;
  /**
   * Call this when the control plane is available again. The shipper stops waiting, cancels an attempt that has no
   * answer, and resets the backoff to the shortest wait.
   */
  retryNow(): void;
  /** Ships what it can until the deadline, then closes the spool of this process and all adopted spools. */
  close(options: { readonly deadlineMs: number }): Promise<void>;
}

type Link = 'connecting' | 'connected' | 'waiting' | 'closed';

export interface ShipperStatus {
  readonly link: Link;
  /** Records that are not acknowledged, of all spools. */
  readonly records: number;
  readonly bytes: number;
  readonly oldestAgeMs: number;
  /** Records that could not be read back from disk. */
  readonly lost: number;
  /** Spools of dead processes that are being shipped. */
  readonly adopted: number;
  /** Spools that the control plane refuses, and their unacknowledged records. */
  readonly refusedSpools: number;
  readonly refusedRecords: number;
  /** Why the last stream ended. Undefined: a stream is open, or none has ended yet. */
  readonly lastError: string | undefined;
}

export interface ShipperDeps extends Pick<BacklogsDeps, 'adopt' | 'clock' | 'log'> {
  /** Opens a call of `AuditService.Ship` with its metadata. */
  readonly openStream: () => ShipStream;
  readonly random: () => number;
  /** Called when the link has changed. */
  readonly onStatus: (status: ShipperStatus) => void;
}

export interface ShipperConfig {
  readonly sidecarId: string;
  /** The spool of this process. */
  readonly spool: Backlog;
  /** How long an entry waits for other entries that are sent in the same batch, in ms. */
  readonly flushMs?: number;
  /**
   * True: a caller waits for the acknowledgement of every entry. Then an entry waits for other entries only while a
   * batch is in progress.
   */
  readonly isAwaited?: boolean;
  /** How long a stream may continue without credit, or without an acknowledgement of what was sent, in ms. */
  readonly progressMs?: number;
  readonly reconnectMs?: { readonly first: number; readonly max: number };
  readonly adoptEveryMs?: number;
}

/** The longest wait before another attempt, in ms, if callers wait for their entries to be committed. */
const awaitedMs = 1_000;

/**
 * `retryNow` cancels an attempt that has had no answer for this time, in ms. On the connection of such an attempt, an
 * answer may never arrive.
 */
const answerMs = 1_000;

const refusals: readonly number[] = [grpcStatus.UNAUTHENTICATED, grpcStatus.PERMISSION_DENIED];

export function createShipper(deps: ShipperDeps, config: ShipperConfig): Shipper {
  return new SpoolShipper(deps, config);
}

class SpoolShipper implements Shipper {
  readonly #backoff: Backoff;
  #shipment: Shipment | undefined;
  #openedAt: number;
  #link: Link = 'connecting';
  #lastError: string | undefined;
  #isRefused = false;
  // Attempts in a row without an open stream. They are logged at increasing intervals.
  #unopened = 0;
  #closing: 'no' | 'draining' | 'expired' = 'no';
  #stopWaiting = (): void => {};
  #closed: Promise<void> | undefined;
  readonly #backlogs: Backlogs;
  readonly #running: Promise<void>;
  readonly #deps: ShipperDeps;
  readonly #clock: ShipperDeps['clock'];
  readonly #log: ShipperDeps['log'];
  readonly #random: ShipperDeps['random'];
  readonly #shipping: Omit<ShipmentConfig, 'backlogs'>;
  /** The longest wait before another attempt. */
  readonly #longestMs: number;

  constructor(deps: ShipperDeps, config: ShipperConfig) {
    const { adopt, clock, log, random } = deps;
    const { spool, isAwaited = false, reconnectMs = bounds.reconnectMs, adoptEveryMs = 60_000 } = config;
    this.#deps = deps;
    this.#clock = clock;
    this.#log = log;
    this.#random = random;
    const { sidecarId, flushMs = 25, progressMs = 30_000 } = config;
    this.#shipping = { sidecarId, own: spool, flushMs, isAwaited, progressMs };
    this.#longestMs = reconnectMs.max;
    // If `isAwaited`, callers are denied until their entries are accepted again. Therefore the next attempt must follow
    // soon after the control plane is available again.
    const maxMs = isAwaited ? Math.min(awaitedMs, reconnectMs.max) : reconnectMs.max;
    this.#backoff = createBackoff({ random, firstMs: reconnectMs.first, maxMs });
    this.#openedAt = clock.wallTime();
    this.#backlogs = createBacklogs(
      { adopt, clock, log, onAdopted: (backlog) => this.#shipment?.add(backlog), onRetired: (backlog) => this.#shipment?.remove(backlog) },
      { spool, adoptEveryMs },
    );
    spool.onBehind(() => this.#shipment?.wake());
    this.#running = this.#run();
  }

  get adoptedBytes(): number {
    return this.#backlogs.adoptedBytes;
  }

  close({ deadlineMs }: { readonly deadlineMs: number }): Promise<void> {
    return (this.#closed ??= this.#drain(deadlineMs));
  }

  status(): ShipperStatus {
    const { oldestAt, ...totals } = this.#backlogs.status();
    return {
      link: this.#link,
      ...totals,
      oldestAgeMs: oldestAt === undefined ? 0 : Math.max(0, this.#clock.wallTime() - oldestAt),
      lastError: this.#lastError,
    };
  }

  retryNow(): void {
    this.#backoff.reset();
    if (this.#shipment?.isOpen === false && this.#clock.wallTime() - this.#openedAt >= answerMs) this.#shipment.cancel();
    this.#stopWaiting();
  }

  async #run(): Promise<void> {
    while (!this.#isDone()) {
      this.#setLink('connecting');
      this.#openedAt = this.#clock.wallTime();
      const end = await this.#ship();
      this.#isRefused = refusals.includes(end.code);
      if (end.hasProgressed || this.#clock.wallTime() - this.#openedAt >= this.#longestMs) this.#backoff.reset();
      if (this.#isDone()) return;
      const waitMs = this.#isRefused ? barredMs(this.#random, this.#longestMs) : this.#backoff.next();
      this.#unopened += 1;
      if (isPowerOfTwo(this.#unopened))
        this.#log.info({ code: end.code, error: end.details, waitMs, records: this.status().records }, 'audit stream lost');
      this.#lastError = end.details;
      this.#setLink('waiting');
      await this.#wait(waitMs);
    }
  }

  async #ship(): Promise<ShipmentEnd> {
    try {
      const stream = this.#deps.openStream();
      this.#shipment = createShipment(
        {
          stream,
          clock: this.#clock,
          onOpen: () => this.#onOpen(),
          onAcknowledged: (backlog) => this.#settle(backlog),
          onUnreadable: (backlog, error) => this.#onUnreadable(backlog, error),
          onRefused: (backlog, code) => this.#onRefused(backlog, code),
        },
        { ...this.#shipping, backlogs: this.#backlogs.open },
      );
      return await this.#shipment.ended;
    } catch (error) {
      return { code: grpcStatus.UNKNOWN, details: String(error), hasProgressed: false };
    } finally {
      this.#shipment = undefined;
    }
  }

  #onUnreadable({ id }: Backlog, error: unknown): void {
    this.#log.warn({ spool: id, error: String(error) }, 'a spool cannot be read now; the sidecar tries again later');
  }

  #onOpen(): void {
    this.#lastError = undefined;
    this.#unopened = 0;
    this.#setLink('connected');
    this.#log.info({ records: this.status().records }, 'audit stream open');
  }

  #onRefused(backlog: Backlog, code: string): void {
    this.#backlogs.refuse(backlog, code);
    this.#finishIfShipped();
  }

  #settle(backlog: Backlog): void {
    this.#backlogs.settle(backlog);
    this.#finishIfShipped();
  }

  #finishIfShipped(): void {
    if (this.#closing !== 'no' && this.#backlogs.isShipped) this.#shipment?.finish();
  }

  #isDone(): boolean {
    return this.#closing === 'expired' || (this.#closing === 'draining' && (this.#isRefused || this.#backlogs.isShipped));
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.after(ms, resolve);
      timer.unref();
      this.#stopWaiting = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  #setLink(next: Link): void {
    if (this.#link === next) return;
    this.#link = next;
    this.#deps.onStatus(this.status());
  }

  async #drain(deadlineMs: number): Promise<void> {
    this.#closing = 'draining';
    this.#backlogs.stopAdopting();
    const deadline = this.#clock.after(deadlineMs, () => {
      this.#closing = 'expired';
      this.#shipment?.cancel();
      this.#stopWaiting();
    });
    this.retryNow();
    if (!this.#backlogs.isShipped) this.#shipment?.flush();
    else if (this.#shipment?.isOpen) this.#shipment.finish();
    else this.#shipment?.cancel();
    await this.#running;
    deadline.cancel();
    await this.#backlogs.close();
    this.#setLink('closed');
  }
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

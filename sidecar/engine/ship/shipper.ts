// Ships every entry of the spool folder to the control plane: those of this process and those that dead processes left.
// The sidecar creates it at its start. Entries are deleted from disk only when the control plane has committed them, so
// each entry arrives. The control plane skips entries that it has, so each is stored once.
//
// States: connecting, then connected (see `shipment.ts`), then waiting, with backoff, and again. A server that refuses
// the key is tried again at the slowest pace, and the entries are kept. Closing: the same, until everything is
// acknowledged, the key is refused or the deadline passes. Closed: what is left is for the next process.
import { status as grpcStatus } from '@grpc/grpc-js';
import { bounds } from '@tollgate/proto/contract';
import { barredMs, createBackoff } from '../../base/backoff.ts';
import type { Backlog } from '../spool/backlog.ts';
import { type BacklogsDeps, createBacklogs } from './backlogs.ts';
import { createShipment, type Shipment, type ShipmentEnd, type ShipStream } from './shipment.ts';

export interface Shipper {
  status(): ShipperStatus;
  /** Bytes on disk that dead processes left and this one ships. */
  readonly adoptedBytes: number;
  /**
   * The control plane is available again. The shipper stops waiting, cancels an attempt that has no answer, and resets
   * the backoff to the shortest wait.
   */
  retryNow(): void;
  /** Ships what it can until the deadline, then closes the spool and everything adopted. */
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
  /** Why the last stream ended. Undefined when another is open. */
  readonly lastError: string | undefined;
}

export interface ShipperDeps extends Pick<BacklogsDeps, 'adopt' | 'clock' | 'log'> {
  /** A call of `AuditService.Ship` with its metadata. */
  readonly openStream: () => ShipStream;
  readonly random: () => number;
  /** Called when the link has changed. */
  readonly onStatus: (status: ShipperStatus) => void;
}

export interface ShipperConfig {
  readonly sidecarId: string;
  /** The spool of this process. */
  readonly spool: Backlog;
  /** How long an entry waits for others to share its batch. */
  readonly flushMs?: number;
  /** A caller waits for the acknowledgement of every entry: no entry waits for others while no batch is in progress. */
  readonly isAwaited?: boolean;
  /** How long a stream may continue without credit, or without an acknowledgement of what was sent. */
  readonly progressMs?: number;
  readonly reconnectMs?: { readonly first: number; readonly max: number };
  readonly adoptEveryMs?: number;
}

/** The longest wait if callers wait for their entries to be committed. */
const awaitedMs = 1_000;

/** An attempt without an answer after this time may use a connection that will never be answered. */
const answerMs = 1_000;

const refusals: readonly number[] = [grpcStatus.UNAUTHENTICATED, grpcStatus.PERMISSION_DENIED];

export function createShipper(deps: ShipperDeps, config: ShipperConfig): Shipper {
  const { adopt, clock, log, random } = deps;
  const {
    sidecarId,
    spool,
    flushMs = 25,
    isAwaited = false,
    progressMs = 30_000,
    reconnectMs = bounds.reconnectMs,
    adoptEveryMs = 60_000,
  } = config;
  // Callers are denied until their entries are accepted again. Therefore the wait must be short after the control plane
  // is available again.
  const maxMs = isAwaited ? Math.min(awaitedMs, reconnectMs.max) : reconnectMs.max;
  const backoff = createBackoff({ random, firstMs: reconnectMs.first, maxMs });
  let shipment: Shipment | undefined;
  let openedAt = clock.wall();
  let link: Link = 'connecting';
  let lastError: string | undefined;
  let isRefused = false;
  // Attempts in a row without an open stream. They are logged at increasing intervals.
  let unopened = 0;
  let closing: 'no' | 'draining' | 'expired' = 'no';
  let stopWaiting = (): void => {};
  let closed: Promise<void> | undefined;

  const backlogs = createBacklogs(
    { adopt, clock, log, onAdopted: (backlog) => shipment?.add(backlog), onRetired: (backlog) => shipment?.remove(backlog) },
    { spool, adoptEveryMs },
  );
  spool.onBehind(() => shipment?.wake());
  const running = run();

  async function run(): Promise<void> {
    while (!isDone()) {
      setLink('connecting');
      openedAt = clock.wall();
      const end = await ship();
      isRefused = refusals.includes(end.code);
      if (end.hasProgressed || clock.wall() - openedAt >= reconnectMs.max) backoff.reset();
      if (isDone()) return;
      const waitMs = isRefused ? barredMs(random, reconnectMs.max) : backoff.next();
      unopened += 1;
      if (isPowerOfTwo(unopened)) log.info({ code: end.code, error: end.details, waitMs, records: status().records }, 'audit stream lost');
      lastError = end.details;
      setLink('waiting');
      await wait(waitMs);
    }
  }

  async function ship(): Promise<ShipmentEnd> {
    try {
      const stream = deps.openStream();
      shipment = createShipment(
        { stream, clock, onOpen, onAcknowledged: settle, onUnreadable, onRefused },
        { sidecarId, backlogs: backlogs.open, own: spool, flushMs, isAwaited, progressMs },
      );
      return await shipment.ended;
    } catch (error) {
      return { code: grpcStatus.UNKNOWN, details: String(error), hasProgressed: false };
    } finally {
      shipment = undefined;
    }
  }

  function onUnreadable({ id }: Backlog, error: unknown): void {
    log.warn({ spool: id, error: String(error) }, 'a spool cannot be read; it is tried again later');
  }

  function onOpen(): void {
    lastError = undefined;
    unopened = 0;
    setLink('connected');
    log.info({ records: status().records }, 'audit stream open');
  }

  function onRefused(backlog: Backlog, code: string): void {
    backlogs.refuse(backlog, code);
    finishIfShipped();
  }

  function settle(backlog: Backlog): void {
    backlogs.settle(backlog);
    finishIfShipped();
  }

  function finishIfShipped(): void {
    if (closing !== 'no' && backlogs.isShipped) shipment?.finish();
  }

  function isDone(): boolean {
    return closing === 'expired' || (closing === 'draining' && (isRefused || backlogs.isShipped));
  }

  function wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(ms, resolve);
      timer.unref();
      stopWaiting = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  function setLink(next: Link): void {
    if (link === next) return;
    link = next;
    deps.onStatus(status());
  }

  function status(): ShipperStatus {
    const { oldestAt, ...totals } = backlogs.status();
    return { link, ...totals, oldestAgeMs: oldestAt === undefined ? 0 : Math.max(0, clock.wall() - oldestAt), lastError };
  }

  async function drain(deadlineMs: number): Promise<void> {
    closing = 'draining';
    backlogs.stopAdopting();
    const deadline = clock.after(deadlineMs, () => {
      closing = 'expired';
      shipment?.cancel();
      stopWaiting();
    });
    retryNow();
    if (!backlogs.isShipped) shipment?.flush();
    else if (shipment?.isOpen) shipment.finish();
    else shipment?.cancel();
    await running;
    deadline.cancel();
    await backlogs.close();
    setLink('closed');
  }

  function retryNow(): void {
    backoff.reset();
    if (shipment?.isOpen === false && clock.wall() - openedAt >= answerMs) shipment.cancel();
    stopWaiting();
  }

  return {
    status,
    get adoptedBytes() {
      return backlogs.adoptedBytes;
    },
    retryNow,
    close: ({ deadlineMs }) => (closed ??= drain(deadlineMs)),
  };
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

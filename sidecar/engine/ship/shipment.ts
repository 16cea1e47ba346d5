// Runs one stream: it sends what the backlogs have to ship, respects the server's credit and the transport's back
// pressure, and passes on what the server acknowledges. The shipper creates one for every connection.
//
// States: greeting: hello is sent, and nothing else before the server sends its credit. Shipping: batches are sent
// while fewer records are unacknowledged than the credit. A batch is sent at once if there are enough records for it,
// otherwise when its oldest record has waited `flushMs`. Ended: the status has arrived and no read is in progress.
// Records that were sent and not acknowledged are sent again on the next stream.
//
// The server cannot acknowledge a record that this process never sent: such a part of its message is ignored. A stream
// that makes no progress for `progressMs` (no credit, or no acknowledgement of what was sent) is cancelled.
import type { ShipResponse__Output } from '@tollgate/proto';
import { bounds, capabilities } from '@tollgate/proto/contract';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Backlog } from '../spool/backlog.ts';
import { lastIn, type SpoolRecord } from '../spool/record.ts';
import { createLanes, type Lane, type Lanes } from './lanes.ts';

/** A call of `AuditService.Ship`, or its replacement if the control plane is this process. */
export interface ShipStream {
  /** Returns false if the stream is full. The stream emits `drain` when it is not full any more. */
  write(request: ShipMessage): boolean;
  end(): unknown;
  cancel(): void;
  /** Emitted when the stream ends, for any reason. No event follows it. */
  on(event: 'status', listener: (status: ShipStatus) => void): unknown;
  on(event: 'data', listener: (response: ShipResponse__Output) => void): unknown;
  on(event: 'error' | 'drain', listener: () => void): unknown;
}

export interface ShipMessage {
  readonly hello?: { readonly sidecarId: string; readonly capabilities: string[] };
  readonly batch?: {
    readonly spoolId: string;
    readonly spoolSecret: Buffer;
    readonly workspaceId: string;
    /** True: no caller waits for the acknowledgement. */
    readonly canWait: boolean;
    readonly records: SpoolRecord[];
  };
}

interface ShipStatus {
  readonly code: number;
  readonly details: string;
}

export interface Shipment {
  /** True: the server has sent its credit, and the stream has not ended. */
  readonly isOpen: boolean;
  /** Call this when a backlog fell behind. Its records are sent within `flushMs`. */
  wake(): void;
  /** Sends all existing records now. */
  flush(): void;
  add(backlog: Backlog): void;
  remove(backlog: Backlog): void;
  /** Closes the stream in order. Call this when everything was sent and acknowledged. */
  finish(): void;
  cancel(): void;
  readonly ended: Promise<ShipmentEnd>;
}

export interface ShipmentEnd {
  readonly code: number;
  readonly details: string;
  /** True: at least one batch was committed on this stream. */
  readonly hasProgressed: boolean;
}

export interface ShipmentDeps {
  readonly stream: ShipStream;
  readonly clock: Clock;
  readonly onOpen: () => void;
  readonly onAcknowledged: (backlog: Backlog) => void;
  readonly onUnreadable: (backlog: Backlog, error: unknown) => void;
  /** Called when the server accepts nothing of a backlog. The backlog is not part of this shipment any more. */
  readonly onRefused: (backlog: Backlog, code: string) => void;
}

export interface ShipmentConfig {
  readonly sidecarId: string;
  readonly backlogs: readonly Backlog[];
  /** The backlog that this process itself writes. */
  readonly own: Backlog;
  readonly flushMs: number;
  readonly progressMs: number;
  /** True: a caller waits for the acknowledgement of every entry. */
  readonly isAwaited: boolean;
}

export function createShipment(deps: ShipmentDeps, config: ShipmentConfig): Shipment {
  return new StreamShipment(deps, config);
}

class StreamShipment implements Shipment {
  readonly #lanes: Lanes;
  #hasEnded = false;
  #hasProgressed = false;
  #failure: string | undefined;
  #pumping: Promise<void> | undefined;
  #pumpAgain = false;
  /** True: the process waits for the acknowledgement of all records. */
  #isFlushed = false;
  #flushTimer: Timer | undefined;
  #progressTimer: Timer | undefined;
  #unblock = (): void => {};
  readonly ended: Promise<ShipmentEnd>;
  readonly #stream: ShipmentDeps['stream'];
  readonly #clock: ShipmentDeps['clock'];
  readonly #onOpen: ShipmentDeps['onOpen'];
  readonly #onAcknowledged: ShipmentDeps['onAcknowledged'];
  readonly #onUnreadable: ShipmentDeps['onUnreadable'];
  readonly #onRefused: ShipmentDeps['onRefused'];
  readonly #config: ShipmentConfig;

  constructor({ stream, clock, onOpen, onAcknowledged, onUnreadable, onRefused }: ShipmentDeps, config: ShipmentConfig) {
    this.#stream = stream;
    this.#clock = clock;
    this.#onOpen = onOpen;
    this.#onAcknowledged = onAcknowledged;
    this.#onUnreadable = onUnreadable;
    this.#onRefused = onRefused;
    this.#config = config;
    this.#lanes = createLanes(config.backlogs, config);
    this.ended = new Promise<ShipmentEnd>((resolve) => {
      stream.on('status', ({ code, details }) => {
        this.#hasEnded = true;
        this.#flushTimer?.cancel();
        this.#progressTimer?.cancel();
        this.#unblock();
        void Promise.resolve(this.#pumping).then(() =>
          resolve({ code, details: this.#failure ?? details, hasProgressed: this.#hasProgressed }),
        );
      });
    });
    // Ignored, because the event `status` reports the same error and is emitted at every end of the stream.
    stream.on('error', () => {});
    stream.on('drain', () => this.#unblock());
    stream.on('data', (value) => this.#receive(value));
    stream.write({ hello: { sidecarId: config.sidecarId, capabilities: [...capabilities] } });
    this.#awaitProgress();
  }

  get isOpen(): boolean {
    return this.#lanes.credit > 0 && !this.#hasEnded;
  }

  wake(): void {
    if (this.#hasEnded) return;
    this.#armFlush();
    if (this.#config.isAwaited) this.#pump();
  }

  flush(): void {
    this.#isFlushed = true;
    if (!this.#hasEnded) this.#flush();
  }

  add(backlog: Backlog): void {
    this.#lanes.add(backlog);
    this.#pump();
  }

  remove(backlog: Backlog): void {
    this.#lanes.remove(backlog);
  }

  finish(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.cancel();
  }

  #awaitProgress(): void {
    this.#progressTimer?.cancel();
    this.#progressTimer = this.#clock.after(this.#config.progressMs, () => {
      if (this.#lanes.credit > 0 && this.#lanes.inFlight === 0) return;
      const missing = this.#lanes.credit > 0 ? 'acknowledged nothing' : 'gave no credit';
      this.#failure = `the control plane ${missing} for ${this.#config.progressMs} ms`;
      this.#stream.cancel();
    });
    this.#progressTimer.unref();
  }

  #receive({ credit, acknowledged, refused }: ShipResponse__Output): void {
    if (credit) {
      const isFirst = this.#lanes.credit === 0;
      // The credit is limited here too, whatever the server sends.
      this.#lanes.credit = Math.min(credit.records, bounds.auditCreditRecords);
      if (isFirst && credit.records > 0) {
        this.#awaitProgress();
        this.#onOpen();
      }
    }
    if (acknowledged) this.#acknowledge(acknowledged.spoolId, acknowledged.sequence);
    if (refused) this.#refuse(refused.spoolId, refused.code);
    this.#pump();
  }

  #acknowledge(spoolId: string, sequence: number): void {
    const lane = this.#lanes.find(spoolId);
    if (!lane) return;
    // The server may already have more records of a dead process's spool than this process has sent. Those records are
    // sent again, and the server skips them.
    const known = Math.min(sequence, lane.backlog.sent);
    if (known <= lane.backlog.acknowledged) return;
    lane.backlog.acknowledge(known);
    // The server may already have records that were sent on an earlier stream and not yet on this one.
    lane.sent = Math.max(lane.sent, lane.backlog.acknowledged);
    this.#hasProgressed = true;
    this.#awaitProgress();
    this.#onAcknowledged(lane.backlog);
  }

  /** If several batches are in progress, each is refused. Only the first refusal is reported. */
  #refuse(spoolId: string, code: string): void {
    const lane = this.#lanes.find(spoolId);
    if (!lane) return;
    this.#lanes.remove(lane.backlog);
    this.#onRefused(lane.backlog, code);
  }

  #pump(): void {
    this.#pumpAgain = this.#pumping !== undefined;
    if (this.#pumping || this.#hasEnded) return;
    this.#pumping = this.#sendAll()
      .catch((error: unknown) => {
        this.#failure = `the spool cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        this.#stream.cancel();
      })
      .finally(() => {
        this.#pumping = undefined;
        if (this.#hasEnded) return;
        if (this.#pumpAgain) this.#pump();
        else if (this.#lanes.isWaiting) this.#armFlush();
      });
  }

  async #sendAll(): Promise<void> {
    for (let next = this.#lanes.next(); next; next = this.#lanes.next()) {
      const { lane, recordsMax } = next;
      const records = await this.#read(lane, recordsMax);
      if (records === undefined) continue;
      const last = lastIn(records);
      if (this.#hasEnded || last === undefined) return;
      // The backlog was refused while its records were read.
      if (this.#lanes.find(lane.backlog.id) !== lane) continue;
      // No sent record was waiting for an acknowledgement until now, so the time limit for progress starts here.
      if (this.#lanes.inFlight === 0) this.#awaitProgress();
      lane.sent = Math.max(lane.sent, last);
      lane.backlog.noteSent(last);
      const { id: spoolId, owned } = lane.backlog;
      const { secret: spoolSecret, workspaceId } = owned;
      const canWait = !this.#config.isAwaited && !this.#isFlushed;
      const hasCapacity = this.#stream.write({ batch: { spoolId, spoolSecret, workspaceId, canWait, records: [...records] } });
      if (!hasCapacity) await this.#drained();
      if (this.#hasEnded) return;
    }
  }

  // An unreadable spool of a dead process does not block the others: it is tried again later.
  async #read(lane: Lane, recordsMax: number): Promise<readonly SpoolRecord[] | undefined> {
    try {
      return await lane.backlog.readBatch(lane.sent, { recordsMax, bytesMax: bounds.auditBatchBytes });
    } catch (error) {
      if (lane.backlog === this.#config.own) throw error;
      this.#onUnreadable(lane.backlog, error);
      lane.isStuck = true;
      const retry = this.#clock.after(this.#config.progressMs, () => {
        lane.isStuck = false;
        lane.isDue = true;
        this.#pump();
      });
      retry.unref();
      return undefined;
    }
  }

  #armFlush(): void {
    this.#flushTimer ??= this.#clock.after(this.#config.flushMs, () => this.#flush());
  }

  #flush(): void {
    this.#flushTimer?.cancel();
    this.#flushTimer = undefined;
    this.#lanes.setDue();
    this.#pump();
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#unblock = resolve;
    });
  }
}

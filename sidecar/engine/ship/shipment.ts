// Runs one stream: it sends what the backlogs have to ship, respects the server's credit and the transport's back
// pressure, and passes on what the server acknowledges. The shipper creates one for every connection.
//
// States: greeting: hello is sent, and nothing else before the server sends its credit. Shipping: batches are sent
// while fewer records are unacknowledged than the credit. A batch is sent at once if there are enough records for one,
// otherwise when the oldest has waited `flushMs`. Ended: the status has arrived and no read is in progress. Records
// that were sent and not acknowledged are sent again on the next stream.
//
// The server's messages are limited to what it can know: a record that was never sent is not acknowledged. A stream
// that makes no progress for `progressMs` (no credit, or no acknowledgement of what was sent) is cancelled.
import type { ShipResponse__Output } from '@tollgate/proto';
import { bounds, capabilities } from '@tollgate/proto/contract';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Backlog } from '../spool/backlog.ts';
import { lastIn, type SpoolRecord } from '../spool/record.ts';
import { createLanes, type Lane } from './lanes.ts';

/** A call of `AuditService.Ship`, or its replacement if the control plane is this process. */
export interface ShipStream {
  /** Returns false if the stream is full. It emits `drain` when it is not full any more. */
  write(request: ShipMessage): boolean;
  end(): unknown;
  cancel(): void;
  /** The end, for any reason. No event follows it. */
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
    readonly records: SpoolRecord[];
  };
}

interface ShipStatus {
  readonly code: number;
  readonly details: string;
}

export interface Shipment {
  /** The server has answered. */
  readonly isOpen: boolean;
  /** A backlog fell behind: its records are sent within `flushMs`. */
  wake(): void;
  /** All existing records are sent now. */
  flush(): void;
  add(backlog: Backlog): void;
  remove(backlog: Backlog): void;
  /** Everything was sent and acknowledged: closes the stream in order. */
  finish(): void;
  cancel(): void;
  readonly ended: Promise<ShipmentEnd>;
}

export interface ShipmentEnd {
  readonly code: number;
  readonly details: string;
  /** Something was committed on this stream. */
  readonly hasProgressed: boolean;
}

export interface ShipmentDeps {
  readonly stream: ShipStream;
  readonly clock: Clock;
  readonly onOpen: () => void;
  readonly onAcknowledged: (backlog: Backlog) => void;
  readonly onUnreadable: (backlog: Backlog, error: unknown) => void;
  /** Nothing of it is accepted. It is not part of this shipment any more. */
  readonly onRefused: (backlog: Backlog, code: string) => void;
}

export interface ShipmentConfig {
  readonly sidecarId: string;
  readonly backlogs: readonly Backlog[];
  /** The backlog among them that this process writes. */
  readonly own: Backlog;
  readonly flushMs: number;
  readonly progressMs: number;
  /** A caller waits for the acknowledgement of every entry. */
  readonly isAwaited: boolean;
}

export function createShipment(
  { stream, clock, onOpen, onAcknowledged, onUnreadable, onRefused }: ShipmentDeps,
  config: ShipmentConfig,
): Shipment {
  const lanes = createLanes(config.backlogs, config);
  let hasEnded = false;
  let hasProgressed = false;
  let failure: string | undefined;
  let pumping: Promise<void> | undefined;
  let pumpAgain = false;
  let flushTimer: Timer | undefined;
  let progressTimer: Timer | undefined;
  let unblock = (): void => {};

  const ended = new Promise<ShipmentEnd>((resolve) => {
    stream.on('status', ({ code, details }) => {
      hasEnded = true;
      flushTimer?.cancel();
      progressTimer?.cancel();
      unblock();
      void Promise.resolve(pumping).then(() => resolve({ code, details: failure ?? details, hasProgressed }));
    });
  });
  // The status reports the same, and arrives for every end.
  stream.on('error', () => {});
  stream.on('drain', () => unblock());
  stream.on('data', receive);
  stream.write({ hello: { sidecarId: config.sidecarId, capabilities: [...capabilities] } });
  awaitProgress();

  function awaitProgress(): void {
    progressTimer?.cancel();
    progressTimer = clock.after(config.progressMs, () => {
      if (lanes.credit > 0 && lanes.inFlight === 0) return;
      const missing = lanes.credit > 0 ? 'acknowledged nothing' : 'gave no credit';
      failure = `the control plane ${missing} for ${config.progressMs} ms`;
      stream.cancel();
    });
    progressTimer.unref();
  }

  function receive({ credit, acknowledged, refused }: ShipResponse__Output): void {
    if (credit) {
      const isFirst = lanes.credit === 0;
      // The number of unacknowledged records has its own bound, whatever the server sends.
      lanes.credit = Math.min(credit.records, bounds.auditCreditRecords);
      if (isFirst && credit.records > 0) {
        awaitProgress();
        onOpen();
      }
    }
    if (acknowledged) acknowledge(acknowledged.spoolId, acknowledged.sequence);
    if (refused) refuse(refused.spoolId, refused.code);
    pump();
  }

  function acknowledge(spoolId: string, sequence: number): void {
    const lane = lanes.find(spoolId);
    if (!lane) return;
    // The server may have more of a dead process's spool than this process has sent. Those records are sent again, and
    // the server skips them.
    const known = Math.min(sequence, lane.backlog.sent);
    if (known <= lane.backlog.acknowledged) return;
    lane.backlog.acknowledge(known);
    // The server may have records of an earlier stream that were not sent again on this one yet.
    lane.sent = Math.max(lane.sent, lane.backlog.acknowledged);
    hasProgressed = true;
    awaitProgress();
    onAcknowledged(lane.backlog);
  }

  /** If several batches are in progress, each is refused. Only the first refusal is reported. */
  function refuse(spoolId: string, code: string): void {
    const lane = lanes.find(spoolId);
    if (!lane) return;
    lanes.remove(lane.backlog);
    onRefused(lane.backlog, code);
  }

  function pump(): void {
    pumpAgain = pumping !== undefined;
    if (pumping || hasEnded) return;
    pumping = sendAll()
      .catch((error: unknown) => {
        failure = `the spool cannot be read: ${error instanceof Error ? error.message : String(error)}`;
        stream.cancel();
      })
      .finally(() => {
        pumping = undefined;
        if (hasEnded) return;
        if (pumpAgain) pump();
        else if (lanes.isWaiting) armFlush();
      });
  }

  async function sendAll(): Promise<void> {
    for (let next = lanes.next(); next; next = lanes.next()) {
      const { lane, recordsMax } = next;
      const records = await read(lane, recordsMax);
      if (records === undefined) continue;
      const last = lastIn(records);
      if (hasEnded || last === undefined) return;
      // The backlog was refused in the meantime.
      if (lanes.find(lane.backlog.id) !== lane) continue;
      // Until now no acknowledgement was outstanding.
      if (lanes.inFlight === 0) awaitProgress();
      lane.sent = Math.max(lane.sent, last);
      lane.backlog.noteSent(last);
      const { id: spoolId, owned } = lane.backlog;
      const { secret: spoolSecret, workspaceId } = owned;
      const hasRoom = stream.write({ batch: { spoolId, spoolSecret, workspaceId, records: [...records] } });
      if (!hasRoom) await drained();
      if (hasEnded) return;
    }
  }

  // An unreadable spool of a dead process does not block the others: it is tried again later.
  async function read(lane: Lane, recordsMax: number): Promise<readonly SpoolRecord[] | undefined> {
    try {
      return await lane.backlog.readBatch(lane.sent, { recordsMax, bytesMax: bounds.auditBatchBytes });
    } catch (error) {
      if (lane.backlog === config.own) throw error;
      onUnreadable(lane.backlog, error);
      lane.isStuck = true;
      const retry = clock.after(config.progressMs, () => {
        lane.isStuck = false;
        lane.isDue = true;
        pump();
      });
      retry.unref();
      return undefined;
    }
  }

  function armFlush(): void {
    flushTimer ??= clock.after(config.flushMs, flush);
  }

  function flush(): void {
    flushTimer?.cancel();
    flushTimer = undefined;
    lanes.setDue();
    pump();
  }

  function drained(): Promise<void> {
    return new Promise((resolve) => {
      unblock = resolve;
    });
  }

  return {
    get isOpen() {
      return lanes.credit > 0 && !hasEnded;
    },
    wake() {
      if (hasEnded) return;
      armFlush();
      if (config.isAwaited) pump();
    },
    flush() {
      if (!hasEnded) flush();
    },
    add(backlog) {
      lanes.add(backlog);
      pump();
    },
    remove: lanes.remove,
    finish: () => void stream.end(),
    cancel: () => stream.cancel(),
    ended,
  };
}

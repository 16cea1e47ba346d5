// Decodes the messages of `AuditService.Ship`. The records of a batch stay bytes of their message, and are read again
// at each use. An object for each record would live as long as its batch waits for the commit, and collecting these
// objects took a large part of the CPU of the control plane.
import { auditService, type Batch__Output, type ShipRequest__Output } from '@tollgate/proto';
import type { ShippedRecord, ShippedRecords } from '../audit/rules/audit-batch.ts';
import { WireReader } from './wire-reader.ts';

/** A batch as it arrives, before any check. */
export interface ClaimedBatch extends Omit<Batch__Output, 'records'> {
  readonly records: ShippedRecords;
}

/** A message. It has a hello, a batch or neither. */
export interface ShipMessage {
  readonly hello?: ShipRequest__Output['hello'];
  readonly batch?: ClaimedBatch;
  /** The size of the whole message. It is counted, because the records of a batch keep the whole message in memory. */
  readonly bytes: number;
}

// The numbers of the fields in audit.proto.
const request = { batch: 2 } as const;
const batch = { spoolId: 1, records: 2, spoolSecret: 3, workspaceId: 4, canWait: 5 } as const;
const record = { sequence: 1, entry: 2, lost: 3 } as const;
const lost = { last: 1, reason: 2 } as const;

export function decodeShipRequest(encoded: Buffer): ShipMessage {
  const reader = new WireReader(encoded);
  while (reader.next()) if (reader.field === request.batch) return { batch: readBatch(encoded, reader), bytes: encoded.length };
  const { hello = null } = auditService.Ship.requestDeserialize(encoded);
  return { hello, bytes: encoded.length };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function readBatch(bytes: Buffer, { from, to }: Span): ClaimedBatch {
  const claimed = { spoolId: '', spoolSecret: bytes.subarray(0, 0), workspaceId: '', canWait: false };
  let length = 0;
  const reader = new WireReader(bytes, from, to);
  while (reader.next()) {
    if (reader.field === batch.records) {
      // Bytes that are not a record are rejected here, and not when the record is used.
      readRecord(bytes, reader);
      length += 1;
    } else if (reader.field === batch.spoolId) claimed.spoolId = bytes.toString('utf8', reader.from, reader.to);
    else if (reader.field === batch.spoolSecret) claimed.spoolSecret = bytes.subarray(reader.from, reader.to);
    else if (reader.field === batch.workspaceId) claimed.workspaceId = bytes.toString('utf8', reader.from, reader.to);
    else if (reader.field === batch.canWait) claimed.canWait = reader.value !== 0;
  }
  return { ...claimed, records: { length, [Symbol.iterator]: () => readRecords(bytes, { from, to }) } };
}

function* readRecords(bytes: Buffer, { from, to }: Span): Generator<ShippedRecord> {
  const reader = new WireReader(bytes, from, to);
  while (reader.next()) if (reader.field === batch.records) yield readRecord(bytes, reader);
}

/** A record without content gets the sequence 0, which no record can have. */
function readRecord(bytes: Buffer, { from, to }: Span): ShippedRecord {
  let sequence = 0;
  let content: ShippedRecord['content'] | null = null;
  const reader = new WireReader(bytes, from, to);
  while (reader.next()) {
    if (reader.field === record.sequence) sequence = reader.value;
    else if (reader.field === record.entry) content = { entry: bytes.subarray(reader.from, reader.to) };
    else if (reader.field === record.lost) content = readLost(bytes, reader);
  }
  return content === null ? { sequence: 0, content: { lost: '', last: 0 } } : { sequence, content };
}

function readLost(bytes: Buffer, { from, to }: Span): { readonly lost: string; readonly last: number } {
  let last = 0;
  let reason = '';
  const reader = new WireReader(bytes, from, to);
  while (reader.next()) {
    if (reader.field === lost.last) last = reader.value;
    else if (reader.field === lost.reason) reason = bytes.toString('utf8', reader.from, reader.to);
  }
  return { lost: reason, last };
}

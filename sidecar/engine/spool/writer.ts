// Appends records to the end of the spool. Each write succeeds completely or leaves nothing. `append` of one live spool
// uses it.
//
// Framed: records are in the buffer with the sequences that they will have. `writeOut` passes all of them to the kernel
// in one write; from then on they are written. `commit` makes them valid: only committed records are shipped.
// If the write fails or is short, or if `rollBack` is called because the sync failed, everything that is not committed
// is discarded, its sequences are assigned again, and the file is truncated to its last committed record.
// If truncating fails, the segment is sealed: it ends where its last committed record ends, whatever follows in the
// file. The next write begins a new segment, whose name shows that end to any later process. Until then, if this
// process dies, the refused records could be read as entries. Therefore one of two other marks is written at once, and
// each needs another part of the disk to work: a void mark over the first of them, in place, or the next segment,
// empty.
// A group of which only a part was written needs no mark: its records say that the group continues. One case remains:
// the disk reports a failure for a write that it did accept completely, then all three ways fail, and the process dies
// before any of them works. Then those records are shipped although they were refused. Nothing on that disk could
// prevent this.
// Every write tries again, so a disk that has free space again is used.
import { headerBytes, recordBytesMax, writeHeader } from './record.ts';
import { cutBack, type Place, strikeOut } from './refused.ts';
import type { Segments } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';
import { AuditUnavailable } from './unavailable.ts';

export interface Writer {
  /** Returns the sequence that the record will have. */
  frame(json: string): number;
  readonly framedBytes: number;
  /** Throws `AuditUnavailable`; then no framed records are left. */
  writeOut(): void;
  sync(done: (error: Error | null) => void): void;
  commit(): void;
  /** Discards what is framed or written but not committed. Returns the error for the callers that wait for it. */
  rollBack(cause: unknown): AuditUnavailable;
  /** Why the last write failed. Undefined while writing works, or would work again as far as is known. */
  readonly failure: string | undefined;
  close(): void;
}

export interface WriterConfig {
  readonly segments: Segments;
  readonly segmentBytes: number;
  /** The limit for the whole spool, together with what other processes left that is not shipped yet. */
  readonly bytesMax: number;
  readonly othersBytes: () => number;
  /** Absent: writing to the kernel is sufficient. */
  readonly powerLoss?: {
    /** A file was made in the spool's subfolder: its name must survive too. */
    readonly syncFolder: () => void;
  };
}

const firstBufferBytes = 64 * 1024;
/** A character of a JavaScript string takes at most three bytes of UTF-8. */
const utf8BytesMax = 3;

export function createWriter(fs: SpoolFs, { segments, segmentBytes, bytesMax, othersBytes, powerLoss }: WriterConfig): Writer {
  let buffer = Buffer.allocUnsafeSlow(firstBufferBytes);
  let framed = 0;
  /** The record that was framed last. Its header is written when it is known whether its group continues. */
  let unfinishedAt = -1;
  let unfinishedLength = 0;
  let lastFramed = segments.last;
  let written = 0;
  let lastWritten = segments.last;
  let open: (Place & { readonly sealed: boolean }) | undefined;
  let failure: { readonly error: AuditUnavailable; readonly bytes: number } | undefined;
  /** The file has, or may have, bytes after its last committed record. */
  let isTouched = false;
  let closed = false;
  const isSynced = powerLoss !== undefined;

  function frame(json: string): number {
    if (closed) throw new AuditUnavailable('closed', 'the spool is closed');
    if (json.length === 0 || json.length > recordBytesMax) throw oversized(json.length);
    const bytesNeeded = framed + headerBytes + json.length * utf8BytesMax;
    if (bytesNeeded > buffer.length) grow(bytesNeeded);
    const length = buffer.write(json, framed + headerBytes);
    if (length > recordBytesMax) throw oversized(length);
    finishRecord(true);
    unfinishedAt = framed;
    unfinishedLength = length;
    lastFramed += 1;
    framed += headerBytes + length;
    return lastFramed;
  }

  function finishRecord(goesOn: boolean): void {
    if (unfinishedAt >= 0) writeHeader(buffer, unfinishedAt, unfinishedLength, lastFramed, goesOn);
    unfinishedAt = -1;
  }

  function grow(bytesNeeded: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytesNeeded, buffer.length * 2));
    buffer.copy(larger, 0, 0, framed);
    buffer = larger;
  }

  function writeOut(): void {
    finishRecord(false);
    try {
      const { fd, segment } = placeFor(framed);
      isTouched = true;
      const taken = fs.writeSync(fd, buffer, 0, framed, segment.bytes);
      if (taken !== framed) throw new Error(`the disk wrote ${taken} of ${framed} bytes`);
    } catch (cause) {
      throw rollBack(cause);
    }
    written = framed;
    lastWritten = lastFramed;
    framed = 0;
  }

  function placeFor(bytes: number): Place {
    const others = othersBytes();
    const isFull = segments.bytes + others + bytes > bytesMax;
    const givesRoom = segments.acknowledged >= segments.last && (others === 0 || others + bytes <= bytesMax);
    if (isFull && !givesRoom) throw new AuditUnavailable('full', fullText(segments.bytes + others, others));
    // The spool or the disk is full of acknowledged records only. Beginning a new segment deletes them.
    const wantsRoom = failure !== undefined && segments.acknowledged >= segments.last;
    const held = open?.segment.bytes ?? 0;
    if (open && !open.sealed && !isFull && (held === 0 || (!wantsRoom && held + bytes <= segmentBytes))) return open;
    return beginSegment();
  }

  const fullText = (bytes: number, others: number): string =>
    `the spool holds ${bytes} of ${bytesMax} bytes${others === 0 ? '' : `, ${others} of them from before this process`}`;

  function beginSegment(): Place {
    // From here on the next file may exist. A later reader of this folder uses its name as the end of this segment.
    if (open) open = { ...open, sealed: true };
    const segment = segments.following();
    const fd = fs.openSync(segment.path, 'w', 0o600);
    try {
      if (isSynced) fs.fsyncSync(fd);
      powerLoss?.syncFolder();
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
    segments.begin(segment);
    closeFile();
    open = { fd, segment, sealed: false };
    isTouched = false;
    return open;
  }

  function rollBack(cause: unknown): AuditUnavailable {
    framed = 0;
    unfinishedAt = -1;
    written = 0;
    lastFramed = segments.last;
    if (open && isTouched) makeVoid(open);
    const error =
      cause instanceof AuditUnavailable
        ? cause
        : new AuditUnavailable('unwritable', `the spool cannot be written: ${messageOf(cause)}`, { cause });
    failure = { error, bytes: segments.bytes + othersBytes() };
    return error;
  }

  function makeVoid(place: Place): void {
    if (cutBack(fs, place, isSynced)) {
      isTouched = false;
      return;
    }
    open = { ...place, sealed: true };
    if (strikeOut(fs, place, { sequence: segments.last + 1, isSynced })) return;
    try {
      beginSegment();
    } catch {
      // No mark can be written on this disk now. The next write tries again.
    }
  }

  function closeFile(): void {
    try {
      if (open) fs.closeSync(open.fd);
    } catch {
      // Committed bytes are already in the kernel or on disk; close cannot change that.
    }
    open = undefined;
  }

  return {
    frame,
    get framedBytes() {
      return framed;
    },
    writeOut,
    sync(done) {
      if (open) fs.fdatasync(open.fd, done);
      else done(null);
    },
    commit() {
      if (open) segments.grow(open.segment, written, lastWritten);
      written = 0;
      isTouched = false;
      failure = undefined;
    },
    rollBack,
    get failure() {
      // A full spool that has become smaller may be writable again. For a disk, only the next write shows whether it is
      // writable.
      const hasRoomAgain = failure?.error.why === 'full' && segments.bytes + othersBytes() < failure.bytes;
      return hasRoomAgain ? undefined : failure?.error.message;
    },
    close() {
      closed = true;
      // Tries once more, so that the next process does not read refused records as entries.
      if (open && isTouched && !cutBack(fs, open, isSynced)) strikeOut(fs, open, { sequence: segments.last + 1, isSynced });
      closeFile();
    },
  };
}

function oversized(length: number): AuditUnavailable {
  return new AuditUnavailable('oversized', `a record has 1 to ${recordBytesMax} bytes, not ${length}`);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

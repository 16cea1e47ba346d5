// Puts records at the end of the spool, whole or not at all. Used by `append` of one live spool.
//
// Framed: records stand in the buffer with the sequences they will have. `writeOut` hands all of them to the kernel
// in one write; from then on they are written, and `commit` makes them count: only committed records are shipped.
// If the write fails or is short, or `rollBack` is called because the sync failed, everything that is not committed
// is forgotten, its sequences are given again, and the file is cut back to its last committed record.
// If cutting back fails the segment is sealed: it ends where its last committed record ends, whatever follows in the
// file, and the next write begins a new one, whose name says so to any later process. Until then the refused records
// could be taken for entries if this process dies, so that is said at once in one of two other ways, each of which needs
// another part of the disk to work: a void mark over the first of them, in place, or the next segment, empty.
// A group of which only a part was written needs no word: its records say that it goes on. What is left is a disk that
// reports a failure for a write that it did take whole, then fails all three, and the process dies before any of them
// works: then those records are shipped although they were refused. Nothing on that disk could say otherwise.
// Every write tries again, so a disk that has room again is used.
import { headerBytes, recordBytesMax, writeHeader } from './record.ts';
import { cutBack, type Place, strikeOut } from './refused.ts';
import type { Segments } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';
import { AuditUnavailable } from './unavailable.ts';

export interface Writer {
  /** Returns the sequence the record will have. */
  frame(json: string): number;
  readonly framedBytes: number;
  /** Throws `AuditUnavailable`; nothing framed is left then. */
  writeOut(): void;
  sync(done: (error: Error | null) => void): void;
  commit(): void;
  /** Forgets what is framed or written but not committed; returns the error to give to those who wait for it. */
  rollBack(cause: unknown): AuditUnavailable;
  /** Why the last write failed; undefined while writing works, or would again as far as is known. */
  readonly failure: string | undefined;
  close(): void;
}

export interface WriterConfig {
  readonly segments: Segments;
  readonly segmentBytes: number;
  /** Of the whole spool, and of what others left that is not shipped yet. */
  readonly bytesMax: number;
  readonly othersBytes: () => number;
  /** Absent: what the kernel has is enough. */
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
  /** The record framed last: its header waits to know whether its group goes on. */
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
      if (taken !== framed) throw new Error(`the disk took ${taken} of ${framed} bytes`);
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
    // Full of acknowledged records only, the spool or the disk: beginning a new segment deletes them.
    const wantsRoom = failure !== undefined && segments.acknowledged >= segments.last;
    const held = open?.segment.bytes ?? 0;
    if (open && !open.sealed && !isFull && (held === 0 || (!wantsRoom && held + bytes <= segmentBytes))) return open;
    return beginSegment();
  }

  const fullText = (bytes: number, others: number): string =>
    `the spool holds ${bytes} of ${bytesMax} bytes${others === 0 ? '' : `, ${others} of them from before this process`}`;

  function beginSegment(): Place {
    // From here on the next file may exist, and whoever reads this folder later takes its name for the end of this one.
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
      // Nothing can be said on this disk now; the next write tries again.
    }
  }

  function closeFile(): void {
    try {
      if (open) fs.closeSync(open.fd);
    } catch {
      // What was promised is with the kernel or on disk already; close has nothing to add.
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
      // A full spool that has become smaller may be written; whether a disk may, only the next write can tell.
      const hasRoomAgain = failure?.error.why === 'full' && segments.bytes + othersBytes() < failure.bytes;
      return hasRoomAgain ? undefined : failure?.error.message;
    },
    close() {
      closed = true;
      // Once more, lest the next process take what was refused for entries.
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

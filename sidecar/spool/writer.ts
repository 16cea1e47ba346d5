// Puts records at the end of the spool, whole or not at all. Used by `append` of one live spool.
//
// Framed: records stand in the buffer with the sequences they will have. `writeOut` hands all of them to the kernel
// in one write; from then on they are written, and `commit` makes them count: only committed records are shipped.
// If the write fails or is short, or `rollBack` is called because the sync failed, everything that is not committed
// is forgotten, its sequences are given again, and the file is cut back to its last committed record.
// If even cutting back fails the segment is sealed: it ends where its last committed record ends, whatever follows in
// the file, and the next write begins a new one. Every write tries again, so a disk that has room again is used.
import { headerBytes, recordBytesMax, writeHeader } from './record.ts';
import type { Segment, Segments } from './segments.ts';
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
  /** Of the whole spool. */
  readonly bytesMax: number;
  /** Called when a new segment file was made, where its name must survive a power loss too. */
  readonly onSegment: () => void;
}

const firstBufferBytes = 64 * 1024;
/** A character of a JavaScript string takes at most three bytes of UTF-8. */
const utf8BytesMax = 3;

export function createWriter(fs: SpoolFs, { segments, segmentBytes, bytesMax, onSegment }: WriterConfig): Writer {
  let buffer = Buffer.allocUnsafeSlow(firstBufferBytes);
  let framed = 0;
  let lastFramed = segments.last;
  let written = 0;
  let lastWritten = segments.last;
  let open: { readonly fd: number; readonly segment: Segment; readonly sealed: boolean } | undefined;
  let failure: { readonly error: AuditUnavailable; readonly bytes: number } | undefined;
  let closed = false;

  function frame(json: string): number {
    if (closed) throw new AuditUnavailable('closed', 'the spool is closed');
    if (json.length === 0 || json.length > recordBytesMax) throw oversized(json.length);
    const bytesNeeded = framed + headerBytes + json.length * utf8BytesMax;
    if (bytesNeeded > buffer.length) grow(bytesNeeded);
    const length = buffer.write(json, framed + headerBytes);
    if (length > recordBytesMax) throw oversized(length);
    lastFramed += 1;
    writeHeader(buffer, framed, length, lastFramed);
    framed += headerBytes + length;
    return lastFramed;
  }

  function grow(bytesNeeded: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytesNeeded, buffer.length * 2));
    buffer.copy(larger, 0, 0, framed);
    buffer = larger;
  }

  function writeOut(): void {
    try {
      const { fd, segment } = placeFor(framed);
      const taken = fs.writeSync(fd, buffer, 0, framed, segment.bytes);
      if (taken !== framed) throw new Error(`the disk took ${taken} of ${framed} bytes`);
    } catch (cause) {
      throw rollBack(cause);
    }
    written = framed;
    lastWritten = lastFramed;
    framed = 0;
  }

  function placeFor(bytes: number): { readonly fd: number; readonly segment: Segment } {
    const isFull = segments.bytes + bytes > bytesMax;
    if (isFull && segments.acknowledged < segments.last)
      throw new AuditUnavailable('full', `the spool holds ${segments.bytes} of ${bytesMax} bytes`);
    // Full of acknowledged records only: beginning a new segment deletes them.
    if (open && !open.sealed && !isFull && (open.segment.bytes === 0 || open.segment.bytes + bytes <= segmentBytes)) return open;
    return beginSegment();
  }

  function beginSegment(): { readonly fd: number; readonly segment: Segment } {
    // From here on the next file may exist, and whoever reads this folder later takes its name for the end of this one.
    if (open) open = { ...open, sealed: true };
    const segment = segments.following();
    const fd = fs.openSync(segment.path, 'w', 0o600);
    try {
      onSegment();
    } catch (error) {
      fs.closeSync(fd);
      throw error;
    }
    segments.begin(segment);
    closeFile();
    open = { fd, segment, sealed: false };
    return open;
  }

  function rollBack(cause: unknown): AuditUnavailable {
    framed = 0;
    written = 0;
    lastFramed = segments.last;
    if (open && !cutBack(open)) open = { ...open, sealed: true };
    const error =
      cause instanceof AuditUnavailable
        ? cause
        : new AuditUnavailable('unwritable', `the spool cannot be written: ${messageOf(cause)}`, { cause });
    failure = { error, bytes: segments.bytes };
    return error;
  }

  function cutBack({ fd, segment }: { readonly fd: number; readonly segment: Segment }): boolean {
    try {
      fs.ftruncateSync(fd, segment.bytes);
      return true;
    } catch {
      return false;
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
      failure = undefined;
    },
    rollBack,
    get failure() {
      // A full spool that has become smaller may be written; whether a disk may, only the next write can tell.
      const hasRoomAgain = failure?.error.why === 'full' && segments.bytes < failure.bytes;
      return hasRoomAgain ? undefined : failure?.error.message;
    },
    close() {
      closed = true;
      // Once more, lest the next process take what was refused for entries.
      if (open?.sealed) cutBack(open);
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

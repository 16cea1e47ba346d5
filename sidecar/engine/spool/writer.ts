// Appends records to the end of the spool. Each write succeeds completely or leaves nothing. `append.ts` of one live
// spool uses this.
//
// Framed: records are in the buffer with the sequences that they will have. `writeOut` passes all of them to the kernel
// in one write. From then on they are written. `commit` makes them valid: only committed records are shipped. A write
// can fail or be short, or `rollBack` can be called because the sync failed. Then everything that is not committed is
// discarded, its sequences are assigned again, and the file is truncated to its last committed record. If truncating
// fails, the segment is sealed: it ends where its last committed record ends, whatever follows in the file. The next
// write begins a new segment, whose name shows that end to any later process. If this process dies before that write,
// the refused records could be read as entries. Therefore a mark is written at once. The writer tries a void mark over
// the first refused record, in place. If that fails, it creates the next segment, empty. Each of these two needs
// another part of the disk to work. A group of which only a part was written needs no mark: its records say that the
// group continues. One case remains: the disk reports a failure for a write that it did accept completely, all three
// ways (truncating, void mark, next segment) fail, and the process dies before any of them works. Then those records
// are shipped although they were refused. Nothing on that disk could prevent this. Every write tries again, so a disk
// that has free space again is used.
import type { GrantFile } from './grant-file.ts';
import { headerBytes, recordBytesMax, voidMark, writeHeader } from './record.ts';
import type { Segment, Segments } from './segments.ts';
import type { SpoolFs } from './spool-fs.ts';
import { AuditUnavailable } from './unavailable.ts';

export interface Writer {
  /** Adds a record to the buffer. Returns the sequence that the record will have. */
  frame(json: string): number;
  readonly framedBytes: number;
  /** Writes all framed records. Throws `AuditUnavailable`. In that case the framed records are discarded. */
  writeOut(): void;
  sync(done: (error: Error | null) => void): void;
  commit(): void;
  /** Discards what is framed or written but not committed. Returns the error for the callers of these records. */
  rollBack(cause: unknown): AuditUnavailable;
  /**
   * Why the last write failed. Undefined: the last write succeeded, or the spool was full and has become smaller since.
   */
  readonly failure: string | undefined;
  close(): void;
}

export interface WriterConfig {
  readonly segments: Segments;
  readonly segmentBytes: number;
  /**
   * The maximum number of bytes of this spool, together with the bytes that other processes left and that are not
   * shipped yet.
   */
  readonly bytesMax: number;
  readonly othersBytes: () => number;
  /** Counts the calls that the records are about. It is written before them. */
  readonly grants?: Pick<GrantFile, 'writeOut' | 'sync'>;
  /** Present: entries must survive a power loss. Absent: writing to the kernel is sufficient. */
  readonly powerLoss?: {
    /** Called when a file was made in the spool's subfolder, because the name of the file must survive too. */
    readonly syncFolder: () => void;
  };
}

const firstBufferBytes = 64 * 1024;
/** A character of a JavaScript string takes at most three bytes of UTF-8. */
const utf8BytesMax = 3;

/**
 * The state that the functions below work on. They are functions and not private methods, because they are called for
 * each entry, and private methods were slower.
 */
class WriterState {
  readonly fs: SpoolFs;
  readonly config: WriterConfig;
  readonly segments: Segments;
  readonly isSynced: boolean;
  buffer = Buffer.allocUnsafeSlow(firstBufferBytes);
  framed = 0;
  /**
   * The position of the record that was framed last. Its header is written when it is known whether its group
   * continues.
   */
  unfinishedAt = -1;
  unfinishedLength = 0;
  lastFramed: number;
  written = 0;
  lastWritten: number;
  open: (Place & { readonly sealed: boolean }) | undefined;
  failure: { readonly error: AuditUnavailable; readonly bytes: number } | undefined;
  /** True: the file has, or may have, bytes after its last committed record. */
  isTouched = false;
  closed = false;

  constructor(fs: SpoolFs, config: WriterConfig) {
    this.fs = fs;
    this.config = config;
    this.segments = config.segments;
    this.isSynced = config.powerLoss !== undefined;
    this.lastFramed = this.segments.last;
    this.lastWritten = this.segments.last;
  }
}

export function createWriter(fs: SpoolFs, config: WriterConfig): Writer {
  const state = new WriterState(fs, config);
  return {
    frame: (json) => frame(state, json),
    get framedBytes() {
      return state.framed;
    },
    writeOut: () => writeOut(state),
    sync: (done) => sync(state, done),
    commit: () => commit(state),
    rollBack: (cause) => rollBack(state, cause),
    get failure() {
      return failureOf(state);
    },
    close: () => close(state),
  };
}

function frame(state: WriterState, json: string): number {
  if (state.closed) throw new AuditUnavailable('closed', 'the spool is closed');
  if (json.length === 0 || json.length > recordBytesMax) throw oversized(json.length);
  const bytesNeeded = state.framed + headerBytes + json.length * utf8BytesMax;
  if (bytesNeeded > state.buffer.length) grow(state, bytesNeeded);
  const length = state.buffer.write(json, state.framed + headerBytes);
  if (length > recordBytesMax) throw oversized(length);
  finishRecord(state, true);
  state.unfinishedAt = state.framed;
  state.unfinishedLength = length;
  state.lastFramed += 1;
  state.framed += headerBytes + length;
  return state.lastFramed;
}

function finishRecord(state: WriterState, continues: boolean): void {
  if (state.unfinishedAt >= 0) writeHeader(state.buffer, state.unfinishedAt, state.unfinishedLength, state.lastFramed, continues);
  state.unfinishedAt = -1;
}

function grow(state: WriterState, bytesNeeded: number): void {
  const larger = Buffer.allocUnsafeSlow(Math.max(bytesNeeded, state.buffer.length * 2));
  state.buffer.copy(larger, 0, 0, state.framed);
  state.buffer = larger;
}

function writeOut(state: WriterState): void {
  finishRecord(state, false);
  try {
    state.config.grants?.writeOut();
    const { fd, segment } = placeFor(state, state.framed);
    state.isTouched = true;
    const taken = state.fs.writeSync(fd, state.buffer, 0, state.framed, segment.bytes);
    if (taken !== state.framed) throw new Error(`only ${taken} of ${state.framed} bytes were written to the disk`);
  } catch (cause) {
    throw rollBack(state, cause);
  }
  state.written = state.framed;
  state.lastWritten = state.lastFramed;
  state.framed = 0;
}

function sync({ fs, open, config }: WriterState, done: (error: Error | null) => void): void {
  let pending = 2;
  let failed: Error | null = null;
  const end = (error: Error | null): void => {
    failed ??= error;
    pending -= 1;
    if (pending === 0) done(failed);
  };
  if (config.grants === undefined) end(null);
  else config.grants.sync(end);
  if (open === undefined) end(null);
  else fs.fdatasync(open.fd, end);
}

function placeFor(state: WriterState, bytes: number): Place {
  const others = state.config.othersBytes();
  const isFull = state.segments.bytes + others + bytes > state.config.bytesMax;
  const freesSpace = state.segments.acknowledged >= state.segments.last && (others === 0 || others + bytes <= state.config.bytesMax);
  if (isFull && !freesSpace) throw new AuditUnavailable('full', fullText(state, state.segments.bytes + others, others));
  // The last write failed, and all records are acknowledged. Then a new segment frees space, because beginning it
  // deletes the old ones.
  const needsSpace = state.failure !== undefined && state.segments.acknowledged >= state.segments.last;
  const held = state.open?.segment.bytes ?? 0;
  if (state.open && !state.open.sealed && !isFull && (held === 0 || (!needsSpace && held + bytes <= state.config.segmentBytes)))
    return state.open;
  return beginSegment(state);
}

function commit(state: WriterState): void {
  if (state.open) state.segments.grow(state.open.segment, state.written, state.lastWritten);
  state.written = 0;
  state.isTouched = false;
  state.failure = undefined;
}

function fullText(state: WriterState, bytes: number, others: number): string {
  return `the spool holds ${bytes} of ${state.config.bytesMax} bytes${others === 0 ? '' : `, ${others} of them from before this process`}`;
}

function beginSegment(state: WriterState): Place {
  // From here on the file of the next segment may exist. A later reader of this folder uses its name as the end of the
  // current segment.
  if (state.open) state.open = { ...state.open, sealed: true };
  const segment = state.segments.following();
  const fd = state.fs.openSync(segment.path, 'w', 0o600);
  try {
    if (state.isSynced) state.fs.fsyncSync(fd);
    state.config.powerLoss?.syncFolder();
  } catch (error) {
    state.fs.closeSync(fd);
    throw error;
  }
  state.segments.begin(segment);
  closeFile(state);
  state.open = { fd, segment, sealed: false };
  state.isTouched = false;
  return state.open;
}

function rollBack(state: WriterState, cause: unknown): AuditUnavailable {
  state.framed = 0;
  state.unfinishedAt = -1;
  state.written = 0;
  state.lastFramed = state.segments.last;
  if (state.open && state.isTouched) makeVoid(state, state.open);
  const error =
    cause instanceof AuditUnavailable
      ? cause
      : new AuditUnavailable('unwritable', `the spool cannot be written: ${messageOf(cause)}`, { cause });
  state.failure = { error, bytes: state.segments.bytes + state.config.othersBytes() };
  return error;
}

function makeVoid(state: WriterState, place: Place): void {
  if (cutBack(state.fs, place, state.isSynced)) {
    state.isTouched = false;
    return;
  }
  state.open = { ...place, sealed: true };
  if (strikeOut(state.fs, place, { sequence: state.segments.last + 1, isSynced: state.isSynced })) return;
  try {
    beginSegment(state);
  } catch {
    // No mark can be written on this disk now. The next write tries again.
  }
}

/** Returns why the last write failed. Undefined: it did not fail, or the next write is expected to succeed. */
function failureOf({ failure, segments, config }: WriterState): string | undefined {
  // If the spool was full and has become smaller, it may be writable again. After any other failure, only the next
  // write shows whether the disk is writable.
  const hasSpaceAgain = failure?.error.why === 'full' && segments.bytes + config.othersBytes() < failure.bytes;
  return hasSpaceAgain ? undefined : failure?.error.message;
}

function close(state: WriterState): void {
  const { fs, open, isTouched, isSynced, segments } = state;
  state.closed = true;
  // Tries once more to remove refused records, so that the next process does not read them as entries.
  if (open && isTouched && !cutBack(fs, open, isSynced)) strikeOut(fs, open, { sequence: segments.last + 1, isSynced });
  closeFile(state);
}

function closeFile(state: WriterState): void {
  try {
    if (state.open) state.fs.closeSync(state.open.fd);
  } catch {
    // Committed bytes are already in the kernel or on disk; close cannot change that.
  }
  state.open = undefined;
}

function oversized(length: number): AuditUnavailable {
  return new AuditUnavailable('oversized', `a record must have 1 to ${recordBytesMax} bytes, but has ${length}`);
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

// The two functions below change the end of a segment file, where a refused write may have left records. Afterwards no
// later process reads these as entries. Each function returns whether it succeeded.

/** A segment that is open for writing. */
interface Place {
  readonly fd: number;
  readonly segment: Segment;
}

/** Truncates the file to its committed records. `isSynced`: the result must survive a power loss too. */
function cutBack(fs: SpoolFs, { fd, segment }: Place, isSynced: boolean): boolean {
  try {
    fs.ftruncateSync(fd, segment.bytes);
    if (isSynced) fs.fsyncSync(fd);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes a void mark over the refused records, in place. This needs no additional space and changes only bytes that the
 * file has. `sequence` is the first refused one.
 */
function strikeOut(fs: SpoolFs, { fd, segment }: Place, { sequence, isSynced }: { sequence: number; isSynced: boolean }): boolean {
  const mark = voidMark(sequence);
  try {
    const taken = fs.writeSync(fd, mark, 0, mark.length, segment.bytes);
    if (isSynced) fs.fsyncSync(fd);
    return taken === mark.length;
  } catch {
    return false;
  }
}

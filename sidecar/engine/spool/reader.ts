// Reads a spool's committed records back in order, for shipping, one `readBatch` at a time. Every sequence is delivered
// exactly once: as its entry, or as lost if it cannot be read. The backlog of each spool uses this.
//
// Between batches the reader remembers its place: a segment, an offset in it, and the sequence that is expected there.
// It reads in windows. A window is much larger than a batch while there is much to ship. When shipping keeps up, a
// window contains only the records that were appended since, and those bytes are still in the kernel's cache. At an
// unreadable record the reader searches for the next intact record and continues there. All sequences before the found
// record, or before the end of the segment if no record is found, are lost.
import { findRecord } from './damage.ts';
import { headerBytes, isIntact, isPlausibleLength, readHeader, recordBytesMax, type SpoolRecord } from './record.ts';
import type { Segment, Segments } from './segments.ts';
import { readRange, type SpoolFs } from './spool-fs.ts';

export interface Reader {
  /**
   * Returns the records after `after`: at most `bytesMax` bytes, but at least one record. Must not be called again
   * before the previous call has ended.
   */
  readBatch(after: number, limits: BatchLimits): Promise<readonly SpoolRecord[]>;
  /** Call this when the segment is deleted. Its file is closed as soon as no read uses it. */
  release(segment: Segment): void;
  close(): void;
}

export interface BatchLimits {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

interface ReaderDeps {
  readonly fs: SpoolFs;
  readonly onLost: (segment: Segment, sequence: number) => void;
}

interface Place {
  readonly segment: Segment;
  /** Absent: the file is gone, and all of it is unreadable. */
  readonly fd: number | undefined;
  isGone: boolean;
  offset: number;
  /** The sequence that is expected at `offset`. */
  due: number;
  window: Buffer;
  windowStart: number;
}

type Look =
  | { readonly kind: 'record'; readonly sequence: number; readonly entry: Buffer }
  | { readonly kind: 'refill' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'end' };

const windowBytes = 2 * recordBytesMax;
/** The maximum number of bytes that a record adds to a message in addition to its entry. */
const wireOverheadBytes = 24;

export function createReader(deps: ReaderDeps, segments: Segments): Reader {
  return new SpoolReader(deps, segments);
}

class SpoolReader implements Reader {
  #place: Place | undefined;
  #isReading = false;
  readonly #fs: SpoolFs;
  readonly #onLost: ReaderDeps['onLost'];
  readonly #segments: Segments;

  constructor({ fs, onLost }: ReaderDeps, segments: Segments) {
    this.#fs = fs;
    this.#onLost = onLost;
    this.#segments = segments;
  }

  async readBatch(after: number, limits: BatchLimits): Promise<readonly SpoolRecord[]> {
    this.#isReading = true;
    try {
      return await this.#read(after, limits);
    } finally {
      this.#isReading = false;
      if (this.#place?.isGone) this.close();
    }
  }

  close(): void {
    if (this.#place?.fd !== undefined) this.#fs.closeSync(this.#place.fd);
    this.#place = undefined;
  }

  release(segment: Segment): void {
    if (this.#place?.segment !== segment) return;
    this.#place.isGone = true;
    if (!this.#isReading) this.close();
  }

  async #read(after: number, { recordsMax, bytesMax }: BatchLimits): Promise<readonly SpoolRecord[]> {
    // The file of a segment without records may have been created again since it was opened.
    if (this.#place?.due !== after + 1 || this.#place.segment.bytes === 0) this.#seek(after + 1);
    const batch: SpoolRecord[] = [];
    let bytes = 0;
    while (this.#place && this.#place.due <= this.#segments.last && this.#place.due - after <= recordsMax) {
      if (this.#place.due <= this.#segments.acknowledged) {
        // In the meantime the server reported that it has these records from an earlier stream. Their segments may be
        // deleted.
        if (batch.length > 0) break;
        this.#seek(this.#segments.acknowledged + 1);
        continue;
      }
      if (this.#place.due >= this.#segments.endOf(this.#place.segment)) {
        this.#seek(this.#place.due);
        continue;
      }
      const found = look(this.#place);
      if (found.kind === 'refill') {
        await this.#refill(this.#place, windowBytes);
        continue;
      }
      if (found.kind === 'unreadable') {
        await this.#resynchronise(this.#place);
        continue;
      }
      if (found.kind === 'end' || found.sequence > this.#place.due) {
        addLost(batch, this.#lose(this.#place));
        continue;
      }
      // A record with a lower sequence than `due` is skipped, because it comes before the requested records.
      if (found.sequence === this.#place.due) {
        bytes += found.entry.length + wireOverheadBytes;
        if (bytes > bytesMax && batch.length > 0) break;
        batch.push({ sequence: found.sequence, entry: found.entry });
        this.#place.due += 1;
      }
      this.#place.offset += headerBytes + found.entry.length;
    }
    return batch;
  }

  #seek(due: number): void {
    const segment = this.#segments.containing(due);
    if (segment && this.#place?.segment === segment) {
      this.#place.offset = 0;
      this.#place.due = due;
      return;
    }
    this.close();
    if (segment)
      this.#place = { segment, fd: this.#openSegment(segment), isGone: false, offset: 0, due, window: Buffer.alloc(0), windowStart: 0 };
  }

  #openSegment({ path }: Segment): number | undefined {
    try {
      return this.#fs.openSync(path, 'r');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #refill(at: Place, bytesMax: number): Promise<void> {
    const length = Math.min(bytesMax, at.segment.bytes - at.offset);
    at.window = at.fd === undefined ? Buffer.alloc(length) : await readRange(this.#fs, at.fd, at.offset, length);
    at.windowStart = at.offset;
  }

  // The rest of the segment becomes the window, so that many unreadable records do not cause many reads of the segment.
  async #resynchronise(at: Place): Promise<void> {
    const end = at.segment.bytes;
    if (at.windowStart > at.offset || at.windowStart + at.window.length < end) await this.#refill(at, end);
    const from = at.offset - at.windowStart;
    const found = findRecord(at.window, from, at.due);
    at.offset = found < 0 ? at.windowStart + at.window.length : at.windowStart + found;
  }

  #lose(at: Place): number {
    const sequence = at.due;
    this.#onLost(at.segment, sequence);
    at.due += 1;
    return sequence;
  }
}

/** Adds a lost sequence to the batch. Consecutive lost sequences become one record. */
function addLost(batch: SpoolRecord[], sequence: number): void {
  const before = batch.at(-1);
  const first = before !== undefined && 'lost' in before ? before.sequence : sequence;
  if (first < sequence) batch.pop();
  batch.push({ sequence: first, lost: { last: sequence, reason: 'unreadable on disk' } });
}

function look({ segment, offset, window, windowStart }: Place): Look {
  const left = segment.bytes - offset;
  if (left <= 0) return { kind: 'end' };
  if (left < headerBytes) return { kind: 'unreadable' };
  const at = offset - windowStart;
  const inWindow = at < 0 ? 0 : window.length - at;
  if (inWindow < headerBytes) return { kind: 'refill' };
  const header = readHeader(window, at);
  const { length, sequence } = header;
  if (!isPlausibleLength(length) || headerBytes + length > left) return { kind: 'unreadable' };
  if (headerBytes + length > inWindow) return { kind: 'refill' };
  if (!isIntact(window, at, header)) return { kind: 'unreadable' };
  return { kind: 'record', sequence, entry: window.subarray(at + headerBytes, at + headerBytes + length) };
}

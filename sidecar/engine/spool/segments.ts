// Tracks the segment files of one spool and its progress: which records are safely written, and which are acknowledged.
// The writer moves the end of the spool, and acknowledgements move its beginning. The reader uses both.
import { join } from 'node:path';
import type { Log } from '../../base/log.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Segment {
  /** The sequence of its first record. The file name contains it. */
  readonly first: number;
  readonly path: string;
  /** How many bytes of the file are valid. The bytes after them come from a failed write, or are not committed yet. */
  bytes: number;
}

export interface Segments {
  /** The sequence of the last record that is safely written. 0: there is no such record. */
  readonly last: number;
  readonly acknowledged: number;
  /** The total size on disk. */
  readonly bytes: number;
  /** Returns the segment that contains `sequence`, or would contain it if the record existed. */
  containing(sequence: number): Segment | undefined;
  /** Returns the first sequence after those of `segment`. */
  endOf(segment: Segment): number;
  /** Returns the segment that would begin after `last`. */
  following(): Segment;
  /** Notes that the segment now exists and is the last one. */
  begin(segment: Segment): void;
  grow(segment: Segment, bytes: number, last: number): void;
  /** Notes that everything up to `sequence` is acknowledged, and deletes the segments that are no longer needed. */
  acknowledge(sequence: number): void;
  /**
   * Sets the listener. There is only one. The listener must close the deleted file, because the file takes disk space
   * as long as it is open.
   */
  onRemoved(listener: (segment: Segment) => void): void;
  /** Resolves when all pending deletions are complete. */
  close(): Promise<void>;
}

const namePattern = /^(\d{16})\.segment$/;

function segmentName(first: number): string {
  return `${String(first).padStart(16, '0')}.segment`;
}

/** Returns the first sequence that a file name encodes. Undefined: it is not the name of a segment. */
export function firstOfSegment(name: string): number | undefined {
  const digits = namePattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export interface SegmentsState {
  readonly folder: string;
  /** The segments, in ascending order. */
  readonly list: Segment[];
  readonly last: number;
  readonly acknowledged: number;
}

export function createSegments({ fs, log }: { fs: SpoolFs; log: Log }, { folder, list, ...start }: SegmentsState): Segments {
  let { last, acknowledged } = start;
  let removed: (segment: Segment) => void = () => {};
  let deleting = Promise.resolve();
  let bytes = list.reduce((sum, segment) => sum + segment.bytes, 0);

  function remove(segment: Segment): void {
    bytes -= segment.bytes;
    removed(segment);
    const previous = deleting;
    deleting = new Promise((resolve) => {
      fs.unlink(segment.path, (error) => {
        if (error) log.warn({ path: segment.path, error: error.message }, 'a segment of a spool could not be deleted');
        resolve(previous);
      });
    });
  }

  function trim(): void {
    for (let [oldest, next] = list; oldest && next && next.first <= acknowledged + 1; [oldest, next] = list) {
      remove(oldest);
      list.shift();
    }
  }

  return {
    get last() {
      return last;
    },
    get acknowledged() {
      return acknowledged;
    },
    get bytes() {
      return bytes;
    },
    containing: (sequence) => list.findLast((segment) => segment.first <= sequence) ?? list[0],
    endOf(segment) {
      const next = list.find((other) => other.first > segment.first);
      return next ? next.first : last + 1;
    },
    following: () => ({ first: last + 1, path: join(folder, segmentName(last + 1)), bytes: 0 }),
    begin(segment) {
      // A segment in which nothing was safely written is written again, under the same name.
      if (list.at(-1)?.first === segment.first) list.pop();
      list.push(segment);
      trim();
    },
    grow(segment, added, newLast) {
      segment.bytes += added;
      bytes += added;
      last = newLast;
    },
    acknowledge(sequence) {
      acknowledged = Math.max(acknowledged, sequence);
      trim();
    },
    onRemoved(listener) {
      removed = listener;
    },
    close: () => deleting,
  };
}

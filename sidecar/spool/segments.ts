// The segment files of one spool and how far it has come: which records are safely written, which are acknowledged.
// Shared by the writer, which moves the end, by acknowledgements, which move the beginning, and by the reader.
import { join } from 'node:path';
import type { Log } from '../log.ts';
import type { SpoolFs } from './spool-fs.ts';

export interface Segment {
  /** The sequence of its first record; the file is named for it. */
  readonly first: number;
  readonly path: string;
  /** How many bytes of the file count. Anything after them is what a failed write left, or not yet promised. */
  bytes: number;
}

export interface Segments {
  /** The sequence of the last record that is safely written; 0 if none is. */
  readonly last: number;
  readonly acknowledged: number;
  /** What all of them take on disk. */
  readonly bytes: number;
  /** The segment that has `sequence`, or would have if it exists. */
  containing(sequence: number): Segment | undefined;
  /** The first sequence after those of `segment`. */
  endOf(segment: Segment): number;
  /** The segment that would begin after `last`. */
  following(): Segment;
  /** It exists now and is the last. */
  begin(segment: Segment): void;
  grow(segment: Segment, bytes: number, last: number): void;
  /** Everything up to `sequence` is acknowledged: what is no longer needed is deleted. */
  acknowledge(sequence: number): void;
  /** There is one listener: a deleted file takes room until nobody has it open. */
  onRemoved(listener: (segment: Segment) => void): void;
  /** Resolves when what is to be deleted is deleted. */
  close(): Promise<void>;
}

const namePattern = /^(\d{16})\.segment$/;

function segmentName(first: number): string {
  return `${String(first).padStart(16, '0')}.segment`;
}

/** The first sequence that a file name stands for, or undefined if it is not a segment's. */
export function firstOfSegment(name: string): number | undefined {
  const digits = namePattern.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export interface SegmentsState {
  readonly folder: string;
  /** Ascending. */
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
        if (error) log.warn({ path: segment.path, error: error.message }, 'a segment was not deleted');
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
      // A segment in which nothing was ever safely written is written anew, under the same name.
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

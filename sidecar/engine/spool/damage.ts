// Finds what is known about a segment with an unreadable record: where the next good record begins and, at the end of a
// dead process's last segment, how many records the unreadable rest was. Pure.
import { type Header, headerBytes, isIntact, isPlausibleLength, lengthIn, readHeader } from './record.ts';

const recordBytesMin = headerBytes + 1;

/**
 * Returns the offset of the first intact record after `from`, where the record `expected` should begin but does not.
 * Returns -1 if there is no intact record. The found sequence can be ahead of `expected` only by as many records as fit
 * in between.
 */
export function findRecord(bytes: Buffer, from: number, expected: number): number {
  for (let offset = from + 1; offset + recordBytesMin <= bytes.length; offset += 1) {
    // Nearly every offset is rejected here: inside JSON the highest byte at the position of a length is not zero.
    if (!isPlausibleLength(lengthIn(bytes.readUInt32LE(offset)))) continue;
    const header = readHeader(bytes, offset);
    if (offset + headerBytes + header.length > bytes.length) continue;
    if (header.sequence < expected || header.sequence > expected + Math.floor((offset - from) / recordBytesMin)) continue;
    if (isIntact(bytes, offset, header)) return offset;
  }
  return -1;
}

export interface TailEnd {
  /** How many records ended here, readable or not. */
  readonly records: number;
  /** How many bytes they take. What follows is a torn tail, which was not confirmed to any caller. */
  readonly bytes: number;
}

/**
 * Reads a dead process's last segment to its end. `first` is the sequence of its first record. A group whose end was
 * never written was not accepted, and it is dropped as a whole.
 */
export function readTail(bytes: Buffer, first: number): TailEnd {
  let offset = 0;
  let expected = first;
  let accepted: TailEnd = { records: 0, bytes: 0 };
  while (offset < bytes.length) {
    const header = intactAt(bytes, offset);
    if (header !== undefined && header.sequence >= expected) {
      if (header.isVoid) return { records: header.sequence - first, bytes: offset };
      offset += headerBytes + header.length;
      expected = header.sequence + 1;
      if (!header.continues) accepted = { records: expected - first, bytes: offset };
      continue;
    }
    const found = findRecord(bytes, offset, expected);
    if (found < 0) break;
    offset = found;
  }
  const unreadable = countUnreadable(bytes, offset, expected);
  return unreadable > 0 ? { records: expected - first + unreadable, bytes: bytes.length } : accepted;
}

function intactAt(bytes: Buffer, offset: number): Header | undefined {
  if (bytes.length - offset < headerBytes) return undefined;
  const header = readHeader(bytes, offset);
  const isWhole = isPlausibleLength(header.length) && offset + headerBytes + header.length <= bytes.length;
  return isWhole && isIntact(bytes, offset, header) ? header : undefined;
}

// A write that was interrupted leaves a beginning: a good header with a length that exceeds the remaining bytes. Any
// other unreadable rest was complete once, so it may have been confirmed to a caller, and it counts.
function countUnreadable(bytes: Buffer, from: number, first: number): number {
  let count = 0;
  for (let offset = from; bytes.length - offset >= recordBytesMin; ) {
    const { length, crc, sequence } = readHeader(bytes, offset);
    const rest = bytes.length - offset - headerBytes;
    // Only the last record of a group can be the last in the file: it has no mark.
    if (isIntact(bytes, offset, { word: rest, length: rest, crc })) return count + 1;
    if (sequence !== first + count || !isPlausibleLength(length)) return count + 1;
    if (length > rest) return count;
    count += 1;
    offset += headerBytes + length;
  }
  return count;
}

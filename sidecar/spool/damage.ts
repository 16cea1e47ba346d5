// What can still be said of a segment where a record is unreadable: where the next good record begins, and at the
// end of a dead process's last segment how many records the unreadable rest was. Pure.
import { headerBytes, isIntact, isPlausibleLength, readHeader } from './record.ts';

const recordBytesMin = headerBytes + 1;

/**
 * The offset of the first intact record after `from`, where the record `expected` should begin but does not; -1 if
 * there is none. Its sequence can be ahead of `expected` only by as many records as fit in between.
 */
export function findRecord(bytes: Buffer, from: number, expected: number): number {
  for (let offset = from + 1; offset + recordBytesMin <= bytes.length; offset += 1) {
    // Nearly every offset ends here: inside JSON the highest byte of what would be a length is not zero.
    if (!isPlausibleLength(bytes.readUInt32LE(offset))) continue;
    const { length, crc, sequence } = readHeader(bytes, offset);
    if (offset + headerBytes + length > bytes.length) continue;
    if (sequence < expected || sequence > expected + Math.floor((offset - from) / recordBytesMin)) continue;
    if (isIntact(bytes, offset, length, crc)) return offset;
  }
  return -1;
}

export interface TailEnd {
  /** How many records ended here, readable or not. */
  readonly records: number;
  /** How many bytes they take; what follows is a torn tail, of which nobody was told. */
  readonly bytes: number;
}

/** Reads a dead process's last segment through to its end. `first` is the sequence of its first record. */
export function readTail(bytes: Buffer, first: number): TailEnd {
  let offset = 0;
  let expected = first;
  while (offset < bytes.length) {
    if (bytes.length - offset >= headerBytes) {
      const { length, crc, sequence } = readHeader(bytes, offset);
      const end = offset + headerBytes + length;
      if (isPlausibleLength(length) && end <= bytes.length && sequence >= expected && isIntact(bytes, offset, length, crc)) {
        offset = end;
        expected = sequence + 1;
        continue;
      }
    }
    const found = findRecord(bytes, offset, expected);
    if (found < 0) break;
    offset = found;
  }
  const unreadable = countUnreadable(bytes, offset, expected);
  return { records: expected - first + unreadable, bytes: unreadable > 0 ? bytes.length : offset };
}

// A write that was cut short leaves a beginning: a good header that asks for more than there is. Anything else was
// whole once, so a caller may have been told, and it counts.
function countUnreadable(bytes: Buffer, from: number, first: number): number {
  let count = 0;
  for (let offset = from; bytes.length - offset >= recordBytesMin; ) {
    const { length, crc, sequence } = readHeader(bytes, offset);
    const rest = bytes.length - offset - headerBytes;
    if (isIntact(bytes, offset, rest, crc)) return count + 1;
    if (sequence !== first + count || !isPlausibleLength(length)) return count + 1;
    if (length > rest) return count;
    count += 1;
    offset += headerBytes + length;
  }
  return count;
}

// Examines a segment with an unreadable record. It finds where the next good record begins. At the end of a dead
// process's last segment, it finds how many records the unreadable rest contained. Pure.
import { type Header, headerBytes, isIntact, isPlausibleLength, lengthIn, readHeader } from './record.ts';

const recordBytesMin = headerBytes + 1;

/**
 * Returns the offset of the first intact record after `from`. The record `expected` should begin at `from`, but it
 * cannot be read. -1: there is no intact record. The sequence of the found record may be higher than `expected`, but
 * only by as many records as fit between `from` and the found record.
 */
export function findRecord(bytes: Buffer, from: number, expected: number): number {
  for (let offset = from + 1; offset + recordBytesMin <= bytes.length; offset += 1) {
    // Nearly every offset is rejected here. The highest byte of a real length is zero, and JSON contains no zero byte.
    if (!isPlausibleLength(lengthIn(bytes.readUInt32LE(offset)))) continue;
    const header = readHeader(bytes, offset);
    if (offset + headerBytes + header.length > bytes.length) continue;
    if (header.sequence < expected || header.sequence > expected + Math.floor((offset - from) / recordBytesMin)) continue;
    if (isIntact(bytes, offset, header)) return offset;
  }
  return -1;
}

export interface TailEnd {
  /** The number of records up to the end, readable or not. */
  readonly records: number;
  /**
   * The number of bytes of these records. What follows is an incomplete write, which was not confirmed to any caller.
   */
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

// An interrupted write leaves only the beginning of a record: a good header with a length that exceeds the remaining
// bytes. Any other unreadable rest was complete once. It may have been confirmed to a caller, so its records are
// counted.
function countUnreadable(bytes: Buffer, from: number, first: number): number {
  let count = 0;
  for (let offset = from; bytes.length - offset >= recordBytesMin; ) {
    const { length, crc, sequence } = readHeader(bytes, offset);
    const rest = bytes.length - offset - headerBytes;
    // The rest may be one record whose length field is damaged. Then the CRC of this record matches if its length is
    // taken as `rest`, without a mark. The last record in a file has no mark, because it is the last of its group.
    if (isIntact(bytes, offset, { word: rest, length: rest, crc })) return count + 1;
    if (sequence !== first + count || !isPlausibleLength(length)) return count + 1;
    if (length > rest) return count;
    count += 1;
    offset += headerBytes + length;
  }
  return count;
}

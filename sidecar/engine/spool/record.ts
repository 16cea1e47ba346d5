// Defines a record on disk: uint32 length with two marks, uint32 CRC-32, int64 sequence, then `length` bytes of JSON;
// little-endian. The CRC covers the sequence and the bytes of JSON. Its initial value is the first word, which contains
// the length and the marks. So no field can change undetected. Pure. The highest byte of the first word is always zero,
// and JSON never contains a zero byte. Therefore no record can be hidden in an entry.
//
// Marks: `continues`: the record after this one was accepted or refused together with this one. `isVoid`: this is no
// entry; the writer of the segment states that everything from here on was refused.
import { crc32 } from 'node:zlib';
import { bounds } from '@tollgate/proto/contract';

export const headerBytes = 16;

/**
 * The maximum number of bytes of JSON. It is larger than the maximum size of an entry. Thus an oversized entry is
 * shipped, and the control plane handles it.
 */
export const recordBytesMax = 4 * bounds.auditEntryBytes;

/** A record as it is shipped. For lost records, `sequence` is the first lost one. */
export type SpoolRecord =
  | { readonly sequence: number; readonly entry: Buffer }
  | { readonly sequence: number; readonly lost: { readonly last: number; readonly reason: string } };

/** Returns the last sequence of consecutive records. Undefined: there are no records. */
export function lastIn(records: readonly SpoolRecord[]): number | undefined {
  const record = records.at(-1);
  return record !== undefined && 'lost' in record ? record.lost.last : record?.sequence;
}

/** The bits of the two marks. They are above the bits of the longest length, and below the highest byte of the word. */
const continuesBit = 0x80_0000;
const voidBit = 0x40_0000;

/** Writes the header before `length` bytes of JSON that are already at `offset + headerBytes`. */
export function writeHeader(buffer: Buffer, offset: number, length: number, sequence: number, continues: boolean): void {
  writeWord(buffer, offset, continues ? length + continuesBit : length, length, sequence);
}

// Creates no objects: this runs for every entry before its caller is answered.
function writeWord(buffer: Buffer, offset: number, word: number, length: number, sequence: number): void {
  buffer.writeUInt32LE(word, offset);
  buffer.writeUInt32LE(sequence >>> 0, offset + 8);
  buffer.writeUInt32LE(Math.floor(sequence / 0x1_0000_0000), offset + 12);
  buffer.writeUInt32LE(crc32(buffer.subarray(offset + 8, offset + headerBytes + length), word), offset + 4);
}

/**
 * Returns a mark which says that the record `sequence` and all later records of the file were refused. The mark is not
 * longer than the shortest record.
 */
export function voidMark(sequence: number): Buffer {
  const bytes = Buffer.alloc(headerBytes + 1, '0');
  writeWord(bytes, 0, voidBit + 1, 1, sequence);
  return bytes;
}

export interface Header {
  /** Length and marks, as they are written. */
  readonly word: number;
  readonly length: number;
  readonly continues: boolean;
  readonly isVoid: boolean;
  readonly crc: number;
  readonly sequence: number;
}

/** Reads the header at `offset`. The caller must make sure that `headerBytes` bytes exist there. */
export function readHeader(bytes: Buffer, offset: number): Header {
  const word = bytes.readUInt32LE(offset);
  return {
    word,
    length: lengthIn(word),
    continues: (word & continuesBit) !== 0,
    isVoid: (word & voidBit) !== 0,
    crc: bytes.readUInt32LE(offset + 4),
    sequence: bytes.readUInt32LE(offset + 8) + bytes.readUInt32LE(offset + 12) * 0x1_0000_0000,
  };
}

/** Returns the length from the first word of a record, without the marks. */
export function lengthIn(word: number): number {
  // The code does not use `&`, which makes a word with its highest bit set negative.
  return word - ((word & continuesBit) + (word & voidBit));
}

export function isPlausibleLength(length: number): boolean {
  return length > 0 && length <= recordBytesMax;
}

/** Returns whether the CRC matches the first word, the sequence and `length` bytes of JSON at `offset`. */
export function isIntact(bytes: Buffer, offset: number, { word, length, crc }: Pick<Header, 'word' | 'length' | 'crc'>): boolean {
  return crc32(bytes.subarray(offset + 8, offset + headerBytes + length), word) === crc;
}

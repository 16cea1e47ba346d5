// A record on disk: uint32 length with two marks, uint32 CRC-32, int64 sequence, then `length` bytes of JSON;
// little-endian. The CRC covers sequence and bytes and starts from length and marks, so no field can change unnoticed.
// Pure. The highest byte of that first word is always zero and JSON never has a zero byte: no record can hide in an entry.
//
// Marks: `goesOn`, the record after this one was accepted or refused together with it; `isVoid`, no entry at all, but
// the word of the one who wrote the segment that whatever stands from here on was refused.
import { crc32 } from 'node:zlib';
import { bounds } from '@tollgate/proto/contract';

export const headerBytes = 16;

/** Of JSON. Above what any entry may be, so that mending an oversized one is left to the control plane. */
export const recordBytesMax = 4 * bounds.auditEntryBytes;

/** As it is shipped. Of what is lost, `sequence` is the first. */
export type SpoolRecord =
  | { readonly sequence: number; readonly entry: Buffer }
  | { readonly sequence: number; readonly lost: { readonly last: number; readonly reason: string } };

/** The last sequence of records that follow each other; undefined: there are none. */
export function lastIn(records: readonly SpoolRecord[]): number | undefined {
  const record = records.at(-1);
  return record !== undefined && 'lost' in record ? record.lost.last : record?.sequence;
}

/** Above what `recordBytesMax` can reach, below the highest byte. */
const goesOnBit = 0x80_0000;
const voidBit = 0x40_0000;

/** Writes the header before `length` bytes of JSON that stand already at `offset + headerBytes`. */
export function writeHeader(buffer: Buffer, offset: number, length: number, sequence: number, goesOn: boolean): void {
  writeWord(buffer, offset, goesOn ? length + goesOnBit : length, length, sequence);
}

// No objects: this is done for every entry before its caller hears anything.
function writeWord(buffer: Buffer, offset: number, word: number, length: number, sequence: number): void {
  buffer.writeUInt32LE(word, offset);
  buffer.writeUInt32LE(sequence >>> 0, offset + 8);
  buffer.writeUInt32LE(Math.floor(sequence / 0x1_0000_0000), offset + 12);
  buffer.writeUInt32LE(crc32(buffer.subarray(offset + 8, offset + headerBytes + length), word), offset + 4);
}

/** Says that `sequence` and all that follow in the file were refused. No longer than the shortest record. */
export function voidMark(sequence: number): Buffer {
  const bytes = Buffer.alloc(headerBytes + 1, '0');
  writeWord(bytes, 0, voidBit + 1, 1, sequence);
  return bytes;
}

export interface Header {
  /** Length and marks, as they are written. */
  readonly word: number;
  readonly length: number;
  readonly goesOn: boolean;
  readonly isVoid: boolean;
  readonly crc: number;
  readonly sequence: number;
}

/** The caller has made sure that `headerBytes` bytes are there. */
export function readHeader(bytes: Buffer, offset: number): Header {
  const word = bytes.readUInt32LE(offset);
  return {
    word,
    length: lengthIn(word),
    goesOn: (word & goesOnBit) !== 0,
    isVoid: (word & voidBit) !== 0,
    crc: bytes.readUInt32LE(offset + 4),
    sequence: bytes.readUInt32LE(offset + 8) + bytes.readUInt32LE(offset + 12) * 0x1_0000_0000,
  };
}

/** Of a word that stands where a record's length would. */
export function lengthIn(word: number): number {
  // Not `&`, which makes a negative number of one whose highest bit is set.
  return word - ((word & goesOnBit) + (word & voidBit));
}

export function isPlausibleLength(length: number): boolean {
  return length > 0 && length <= recordBytesMax;
}

/** Whether first word, sequence and JSON at `offset`, were they `length` bytes long, are what the CRC was made of. */
export function isIntact(bytes: Buffer, offset: number, { word, length, crc }: Pick<Header, 'word' | 'length' | 'crc'>): boolean {
  return crc32(bytes.subarray(offset + 8, offset + headerBytes + length), word) === crc;
}

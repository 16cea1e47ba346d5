// A record on disk: uint32 length, uint32 CRC-32, int64 sequence, then `length` bytes of JSON; little-endian.
// The CRC covers sequence and bytes and starts from the length, so no field can change unnoticed. Pure.
// The highest byte of a length is always zero and JSON never has a zero byte: no record can hide in an entry.
import { crc32 } from 'node:zlib';
import { bounds } from '@tollgate/proto/contract';

export const headerBytes = 16;

/** Of JSON. Above what any entry may be, so that mending an oversized one is left to the control plane. */
export const recordBytesMax = 4 * bounds.auditEntryBytes;

export type SpoolRecord = { readonly sequence: number; readonly entry: Buffer } | { readonly sequence: number; readonly lost: string };

/** Writes the header before `length` bytes of JSON that stand already at `offset + headerBytes`. */
export function writeHeader(buffer: Buffer, offset: number, length: number, sequence: number): void {
  buffer.writeUInt32LE(length, offset);
  buffer.writeUInt32LE(sequence >>> 0, offset + 8);
  buffer.writeUInt32LE(Math.floor(sequence / 0x1_0000_0000), offset + 12);
  buffer.writeUInt32LE(crc32(buffer.subarray(offset + 8, offset + headerBytes + length), length), offset + 4);
}

export interface Header {
  readonly length: number;
  readonly crc: number;
  readonly sequence: number;
}

/** The caller has made sure that `headerBytes` bytes are there. */
export function readHeader(bytes: Buffer, offset: number): Header {
  return {
    length: bytes.readUInt32LE(offset),
    crc: bytes.readUInt32LE(offset + 4),
    sequence: bytes.readUInt32LE(offset + 8) + bytes.readUInt32LE(offset + 12) * 0x1_0000_0000,
  };
}

export function isPlausibleLength(length: number): boolean {
  return length > 0 && length <= recordBytesMax;
}

/** Whether sequence and JSON at `offset`, were they `length` bytes long, are what the CRC was made of. */
export function isIntact(bytes: Buffer, offset: number, length: number, crc: number): boolean {
  return crc32(bytes.subarray(offset + 8, offset + headerBytes + length), length) === crc;
}

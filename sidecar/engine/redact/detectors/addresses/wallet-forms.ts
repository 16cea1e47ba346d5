// Defines the forms of wallet addresses without a distinctive beginning: lengths, alphabets and checksums, by network.
import { hash } from 'node:crypto';

export interface WalletForm {
  readonly lengths: readonly [number, number];
  readonly form: RegExp;
  /** Returns whether the token is an address of this form. `near`: returns the text around the token. */
  readonly holds: (token: string, near: () => string) => boolean;
}

const bitcoinAlphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const rippleAlphabet = 'rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz';
const base58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

/** Returns the value of each ASCII character in the alphabet, or -1 for a character that is not in it. */
function valuesOf(alphabet: string): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let at = 0; at < alphabet.length; at++) values[alphabet.charCodeAt(at)] = at;
  return values;
}
const bitcoinValues = valuesOf(bitcoinAlphabet);
const rippleValues = valuesOf(rippleAlphabet);

// The number of digits that are processed together, and the size of one limb. Both are so small that their product is
// exact.
const digitsAtOnce = 4;
const limb = 2 ** 24;

/** Decodes Base58. Null: the text contains a character that is not in the alphabet. */
function fromBase58(text: string, values: Int8Array): Uint8Array | null {
  const limbs: number[] = [];
  for (let at = 0; at < text.length; at += digitsAtOnce) {
    let carry = 0;
    let factor = 1;
    for (let of = at; of < Math.min(at + digitsAtOnce, text.length); of++) {
      const value = values[text.charCodeAt(of)] ?? -1;
      if (value === -1) return null;
      carry = carry * 58 + value;
      factor *= 58;
    }
    for (let of = 0; of < limbs.length; of++) {
      const product = (limbs[of] ?? 0) * factor + carry;
      carry = Math.floor(product / limb);
      limbs[of] = product - carry * limb;
    }
    if (carry > 0) limbs.push(carry);
  }
  return bytesOf(limbs, leadingZeros(text, values));
}

function leadingZeros(text: string, values: Int8Array): number {
  let zeros = 0;
  while (values[text.charCodeAt(zeros)] === 0) zeros += 1;
  return zeros;
}

/**
 * Returns the bytes of a number. `limbs` begins with the least significant limb. `zeros`: the number of zero bytes
 * before the number.
 */
function bytesOf(limbs: readonly number[], zeros: number): Uint8Array {
  const bytes = limbs.toReversed().flatMap((value) => [value >> 16, (value >> 8) & 255, value & 255]);
  const first = bytes.findIndex((byte) => byte !== 0);
  return Uint8Array.from([...Array.from({ length: zeros }, () => 0), ...(first === -1 ? [] : bytes.slice(first))]);
}

const digest = (algorithm: string, bytes: Uint8Array): Buffer => hash(algorithm, bytes, 'buffer');
const endsIn = (bytes: Uint8Array, checksum: Uint8Array, length: number): boolean =>
  Buffer.compare(bytes.subarray(bytes.length - length), checksum.subarray(0, length)) === 0;

/** Checks Base58Check: the last four bytes are the first four of the double SHA-256 of the bytes before them. */
function isBase58Check(text: string, values: Int8Array): boolean {
  const bytes = fromBase58(text, values);
  return bytes !== null && bytes.length > 20 && endsIn(bytes, digest('sha256', digest('sha256', bytes.subarray(0, -4))), 4);
}
const isBitcoinCheck = (token: string): boolean => isBase58Check(token, bitcoinValues);
const isRippleCheck = (token: string): boolean => isBase58Check(token, rippleValues);

/** Checks the checksum of Polkadot and related networks. */
function isSs58(token: string): boolean {
  const bytes = fromBase58(token, bitcoinValues);
  if (bytes === null || (bytes.length !== 35 && bytes.length !== 36)) return false;
  return endsIn(bytes, digest('blake2b512', Buffer.concat([Buffer.from('SS58PRE'), bytes.subarray(0, -2)])), 2);
}

const saysSolana =
  /(?<![a-z])sol(?![a-z])|solana|wallet|airdrop|phantom|lamport|(?<![a-z])spl(?![a-z])|(?<![a-z])mint(?![a-z])|token ?account|pubkey|address|recipient|payout|deposit|withdraw/i;
const isSolana = (token: string, near: () => string): boolean => fromBase58(token, bitcoinValues)?.length === 32 && saysSolana.test(near());

const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function fromBase32(text: string): Uint8Array {
  const bytes: number[] = [];
  let bits = 0;
  let held = 0;
  for (const character of text) {
    held = ((held << 5) | base32Alphabet.indexOf(character)) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((held >> bits) & 255);
  }
  return Uint8Array.from(bytes);
}

/** CRC-16/XMODEM. */
function crc16(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = ((sum & 0x8000 ? (sum << 1) ^ 0x1021 : sum << 1) & 0xffff) >>> 0;
  }
  return sum;
}

/** Stellar, SEP-23: the checksum has its low byte first. */
function isStellar(token: string): boolean {
  const bytes = Buffer.from(fromBase32(token));
  return bytes.readUInt16LE(bytes.length - 2) === crc16(bytes.subarray(0, -2));
}

/** Algorand: the last four bytes are the last four of the SHA-512/256 of the key. */
function isAlgorand(token: string): boolean {
  const bytes = fromBase32(token);
  return bytes.length === 36 && endsIn(bytes, digest('sha512-256', bytes.subarray(0, 32)).subarray(-4), 4);
}

/** TON: a byte of flags, one of the chain, 32 of the account, and a checksum with its high byte first. */
export function isBase64Crc16(token: string): boolean {
  const bytes = Buffer.from(token, 'base64url');
  return bytes.length === 36 && bytes.readUInt16BE(34) === crc16(bytes.subarray(0, 34));
}

const anything = (): boolean => true;

export const walletForms: readonly WalletForm[] = [
  // Bitcoin; Litecoin, Dogecoin, Dash, Tron, testnets; Zcash and Tezos.
  { lengths: [26, 35], form: /^[13]/, holds: isBitcoinCheck },
  { lengths: [33, 35], form: /^[LMDA9X7T2mn]/, holds: isBitcoinCheck },
  { lengths: [35, 36], form: /^(?:t[13m2]|tz[1-4]|KT1)/, holds: isBitcoinCheck },
  { lengths: [25, 35], form: /^r/, holds: isRippleCheck },
  { lengths: [46, 48], form: /^[XT]/, holds: isRippleCheck },
  // Private keys, which open a wallet, and extended keys, which open or show a whole wallet.
  { lengths: [51, 52], form: /^[5KLc9]/, holds: isBitcoinCheck },
  { lengths: [111, 112], form: /^[xyztuvYZ](?:pub|prv)/, holds: isBitcoinCheck },
  { lengths: [46, 50], form: base58, holds: isSs58 },
  // Monero, and the addresses of Cardano before Shelley.
  { lengths: [95, 95], form: /^[48][0-9A-C][1-9A-HJ-NP-Za-km-z]{93}$/, holds: anything },
  { lengths: [106, 106], form: /^4[1-9A-HJ-NP-Za-km-z]{105}$/, holds: anything },
  { lengths: [104, 104], form: /^DdzFF[1-9A-HJ-NP-Za-km-z]{99}$/, holds: anything },
  { lengths: [59, 59], form: /^Ae2tdPwUPEZ[1-9A-HJ-NP-Za-km-z]{48}$/, holds: anything },
  { lengths: [56, 56], form: /^[GS][A-Z2-7]{55}$/, holds: isStellar },
  { lengths: [58, 58], form: /^[A-Z2-7]{58}$/, holds: isAlgorand },
  // Filecoin.
  { lengths: [41, 41], form: /^[ft][12][a-z2-7]{39}$/, holds: (token) => /[a-z]/.test(token.slice(2)) && /[2-7]/.test(token.slice(2)) },
  { lengths: [42, 44], form: base58, holds: isSolana },
];

// Checks the checksum of Bech32 (BIP 173) and of Bech32m (BIP 350): addresses of SegWit, Cardano, Cosmos and others.

const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const values = new Int8Array(128).fill(-1);
for (let at = 0; at < alphabet.length; at++) values[alphabet.charCodeAt(at)] = at;

const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3] as const;
const constants = new Set([1, 0x2bc830a3]);

/** Returns whether `text` has a prefix, then its last `1`, then at least six characters with a correct checksum. */
export function isBech32(text: string): boolean {
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return false;
  const separator = lower.lastIndexOf('1');
  let sum = 1;
  for (let at = 0; at < separator; at++) sum = next(sum, lower.charCodeAt(at) >> 5);
  sum = next(sum, 0);
  for (let at = 0; at < separator; at++) sum = next(sum, lower.charCodeAt(at) & 31);
  for (let at = separator + 1; at < lower.length; at++) {
    const value = values[lower.charCodeAt(at)] ?? -1;
    if (value === -1) return false;
    sum = next(sum, value);
  }
  return constants.has(sum);
}

function next(sum: number, value: number): number {
  const top = sum >>> 25;
  let result = ((sum & 0x1ffffff) << 5) ^ value;
  for (let bit = 0; bit < 5; bit++) if ((top >> bit) & 1) result ^= generators[bit] ?? 0;
  return result;
}

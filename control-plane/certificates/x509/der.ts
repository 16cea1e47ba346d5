// Writes the few forms of DER (X.690) of which a certificate consists.

const tlv = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
};

function lengthOf(bytes: number): readonly number[] {
  if (bytes < 128) return [bytes];
  const digits: number[] = [];
  for (let rest = bytes; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return [0x80 + digits.length, ...digits];
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tlv(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tlv(0x31, ...parts);
export const octets = (content: Uint8Array): Buffer => tlv(0x04, content);
export const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
export const yes = tlv(0x01, Buffer.from([0xff]));
/** Writes the tag `[n]` around parts that have their own tags. */
export const tagged = (n: number, ...parts: readonly Uint8Array[]): Buffer => tlv(0xa0 + n, ...parts);
/** Writes the tag `[n]` in place of the string's own tag. */
export const taggedString = (n: number, content: Uint8Array): Buffer => tlv(0x80 + n, content);
export const bits = (content: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.from([unused]), content);

/** Writes a positive integer. In `bytes`, the most significant byte is the first. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Buffer.from([0]) : Buffer.from(bytes.subarray(first));
  return tlv(0x02, (digits[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): readonly number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) digits.unshift((rest % 128) + 128);
  return digits;
}

/** Writes a time in whole seconds. Before 2050 the form is UTCTime, as RFC 5280 requires. */
export function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return at.getUTCFullYear() < 2050 ? tlv(0x17, Buffer.from(digits.slice(2))) : tlv(0x18, Buffer.from(digits));
}

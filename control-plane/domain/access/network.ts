// The network that a connection comes from, as limits count it: an IPv4 address, or the half of an IPv6 address that one
// customer of a provider has.
import { isIP } from 'node:net';

/** `address`: as a socket says it. */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%');
  // IPv4 that came to a socket of both.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  return isIP(bare) === 6 ? `${groupsOf(bare).slice(0, 4).join(':')}::/64` : bare;
}

function groupsOf(address: string): readonly string[] {
  // As WHATWG writes it, without the dotted form at its end.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const written = [...(first ?? []), ...(last ?? [])];
  return tail === undefined ? written : [...(first ?? []), ...Array.from({ length: 8 - written.length }, () => '0'), ...(last ?? [])];
}

// Determines the network of a connection, for limits. It is an IPv4 address or its /24 block, or the first half of an
// IPv6 address, which identifies one customer of a provider.
import { isIP } from 'node:net';

/** `address`: in the format of a socket. */
export function networkOf(address: string): string {
  const [bare = ''] = address.split('%');
  // This is an IPv4 connection on a dual-stack socket.
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  return isIP(bare) === 6 ? `${groupsOf(bare).slice(0, 4).join(':')}::/64` : bare;
}

/** As `networkOf`, but the 256 addresses of an IPv4 block (/24) are one network. `address`: in the format of a socket. */
export function blockOf(address: string): string {
  const network = networkOf(address);
  return isIP(network) === 4 ? `${network.split('.').slice(0, 3).join('.')}.0/24` : network;
}

function groupsOf(address: string): readonly string[] {
  // `URL` converts the address to its WHATWG form, which has no part in dotted notation at its end.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [head, tail ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const written = [...(first ?? []), ...(last ?? [])];
  return tail === undefined ? written : [...(first ?? []), ...Array.from({ length: 8 - written.length }, () => '0'), ...(last ?? [])];
}

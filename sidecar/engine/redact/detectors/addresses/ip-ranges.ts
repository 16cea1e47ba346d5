// Defines addresses that identify no host of a person or organisation: IANA's special-purpose registries (RFC 6890 and
// its successors), masks, whole private networks, and public resolvers.

const publicResolvers = new Set(
  (
    '1.1.1.1 1.0.0.1 8.8.8.8 8.8.4.4 9.9.9.9 149.112.112.112 208.67.222.222 208.67.220.220 94.140.14.14 94.140.15.15 4.2.2.1 4.2.2.2 1.2.3.4 ' +
    // The metadata services of clouds, and Azure's wire server.
    '169.254.169.254 168.63.129.16'
  ).split(' '),
);

/**
 * The private networks of RFC 1918, RFC 6598 and RFC 3927, each as a whole. Single addresses in them do name a host.
 */
const privateNetworks = new Set('10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 169.254.0.0/16'.split(' '));

/**
 * Returns whether an IPv4 address names a host. `suffix`: the three characters after the address. They may be a prefix
 * length such as `/16`.
 */
export function namesHost(octets: readonly number[], suffix: string): boolean {
  const [a = 0, b = 0, c = 0] = octets;
  const text = octets.join('.');
  // "This network", loopback, multicast, reserved, broadcast and masks.
  if (a === 0 || a === 127 || a >= 224) return false;
  // Ranges for documents (RFC 5737), for benchmarks (RFC 2544), and for protocols.
  if (a === 198 && (b === 18 || b === 19)) return false;
  if ((a === 192 && b === 0 && (c === 2 || c === 0)) || (a === 198 && b === 51 && c === 100) || (a === 203 && b === 0 && c === 113))
    return false;
  if (publicResolvers.has(text) || privateNetworks.has(`${text}${suffix}`) || privateNetworks.has(`${text}${suffix.slice(0, 2)}`))
    return false;
  return true;
}

/** The prefixes of IPv6 addresses that name a host: global unicast, unique local and link-local. */
const hostPrefix = /^(?:[23][0-9a-f]{3}|f[cd][0-9a-f]{2}|fe[89ab][0-9a-f]):/;
/** IPv6 prefixes for documents (RFC 3849 and RFC 9637) and for benchmarks. */
const documentation = /^(?:2001:0?db8:|3fff:|2001:0?2:0?0?0?0?:)/;
const resolvers6 = new Set(
  '2001:4860:4860::8888 2001:4860:4860::8844 2606:4700:4700::1111 2606:4700:4700::1001 2620:fe::fe 2620:fe::9'.split(' '),
);
const embedded = /^(?:::ffff:|64:ff9b::)(\d+\.\d+\.\d+\.\d+)$/;

/** Returns whether an IPv6 address names a host. `address` must be valid, in lower case. */
export function namesHost6(address: string): boolean {
  const inside = embedded.exec(address)?.[1];
  if (inside !== undefined) return namesHost(inside.split('.').map(Number), '');
  return hostPrefix.test(address) && !documentation.test(address) && !resolvers6.has(address) && !/^[0-9a-f]{4}::$/.test(address);
}

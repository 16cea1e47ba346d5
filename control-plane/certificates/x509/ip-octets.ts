// Converts an IP address to its form in a certificate: four or sixteen octets.
import { isIP } from 'node:net';

/** Returns the octets of the address. Throws when the text is not an IP address. */
export function ipOctets(address: string): Buffer {
  switch (isIP(address)) {
    case 4:
      return Buffer.from(address.split('.').map(Number));
    case 6:
      return ofSixteen(address);
    default:
      throw new Error(`${JSON.stringify(address)} is not an IP address`);
  }
}

function ofSixteen(address: string): Buffer {
  // `URL` converts the address to its WHATWG form, which has no part in dotted notation at its end.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groupsOf = (part: string): readonly string[] => (part === '' ? [] : part.split(':'));
  const [first, last] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

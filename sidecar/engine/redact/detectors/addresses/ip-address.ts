// Finds IP addresses. Four numbers with dots between them are a version or a section number as often as an address: see
// `ipv4-context.ts`. An IPv6 address must begin in the way that global, local or link-local addresses begin. Thus
// times, fingerprints and scopes of C++ (`a::b`) are not found.
import { isIP } from 'node:net';
import { isHex, isWordCode, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { namesHost, namesHost6 } from './ip-ranges.ts';
import { isAddressInContext } from './ipv4-context.ts';

export const ipv4: Detector = {
  kind: 'ip_address',
  anchors: 'digits',
  reach: { before: 100, after: 48 },
  find: (text, at, end, found) => {
    if (!'.[('.includes(text.charAt(end)) || end === text.length || end - at > 5) return;
    // `%20` may directly precede an address. The digits of `%20` are not part of the address.
    const start = text[at - 1] === '%' && end - at > 2 ? at + 2 : at;
    const before = text.charAt(start - 1);
    if (
      before === '_' ||
      (before === '.' && isWordCode(text.charCodeAt(start - 2))) ||
      !(start !== at || startsWord(text, start) || isAfterName(text, start))
    )
      return;
    quad.lastIndex = start;
    const match = quad.exec(text);
    if (match === null) return;
    const stop = quad.lastIndex;
    if (isContinued(text, stop) || !namesHost(match.slice(1).map(Number), text.slice(stop, stop + 3))) return;
    // Only addresses are written with brackets around the dots.
    if (/[[(]/.test(match[0]) || isAddressInContext(text, start, stop, match.slice(1).map(Number))) found(start, stop);
  },
};

const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
// In reports on attacks the dots are in brackets, so that readers do not open the address by mistake.
const dot = '(?:\\.|\\[(?:\\.|dot)\\]|\\(\\.\\))';
const quad = new RegExp([octet, octet, octet, octet].join(dot), 'iy');

/** Returns whether `IP` directly precedes the address: `IP10.20.30.40`. */
const isAfterName = (text: string, start: number): boolean => /(?:^|[^A-Za-z\d])ip$/i.test(text.slice(Math.max(0, start - 3), start));

/** Returns whether a version or a name continues after the fourth number: `1.2.3.4.5`, `2.0.4.1-3`, `1.2.3.4_x64`. */
function isContinued(text: string, stop: number): boolean {
  const next = text.charCodeAt(stop);
  if (isWordCode(next) || next === 95) return true;
  if (next === 46) return isWordCode(text.charCodeAt(stop + 1)) && !isPortOrReverse(text, stop);
  return (next === 45 || next === 43) && isWordCode(text.charCodeAt(stop + 1)) && !/[-+]\d{1,3}\.\d/y.test(text.slice(stop, stop + 6));
}

// What may follow an address after a dot: a port in the notation of tcpdump, or the end of a reverse DNS name.
const portOrReverse = /\.(?:\d{2,5}(?:: | > )|in-addr\.arpa)/iy;

function isPortOrReverse(text: string, stop: number): boolean {
  portOrReverse.lastIndex = stop;
  return portOrReverse.test(text);
}

const separator = '(?::|%3a)';
const groups = new RegExp(`(?:[0-9a-f]{0,4}${separator}){2,8}(?:\\d{1,3}(?:\\.\\d{1,3}){3}|[0-9a-f]{0,4})`, 'iy');

export const ipv6: Detector = {
  kind: 'ip_address',
  anchors: [':', '%3a'],
  reach: { before: 8, after: 64 },
  find: (text, at, end, found) => {
    const start = at - hexBefore(text, at);
    // The search continues only at the first separator of an address. Every later separator has another separator
    // before it.
    if (
      at - start > 4 ||
      text[start - 1] === ':' ||
      (start === at && text[end] !== ':' && !isEncoded(text, end)) ||
      !startsWord(text, start)
    )
      return;
    if (at > start && !beginsAddress(text.charCodeAt(start))) return;
    groups.lastIndex = start;
    if (!groups.test(text)) return;
    let stop = groups.lastIndex;
    if (isWordCode(text.charCodeAt(stop))) return;
    let address = text.slice(start, stop).replaceAll(/%3a/gi, ':');
    if (address.endsWith(':') && !address.endsWith('::')) {
      address = address.slice(0, -1);
      stop -= text[stop - 1] === ':' ? 1 : 3;
    }
    if (isIP(address) === 6 && namesHost6(address.toLowerCase())) found(start, stop);
  },
};

/**
 * Returns whether an address may begin with this character: `2`, `3`, `f`, and `6` for an address with IPv4 inside (see
 * `ip-ranges.ts`).
 */
const beginsAddress = (code: number): boolean => code === 50 || code === 51 || code === 54 || code === 70 || code === 102;

const isEncoded = (text: string, at: number): boolean =>
  text[at] === '%' && text[at + 1] === '3' && (text[at + 2] === 'A' || text[at + 2] === 'a');

function hexBefore(text: string, at: number): number {
  let length = 0;
  while (length < 5 && isHex(text.charCodeAt(at - 1 - length))) length += 1;
  // The `3A` of an escape is not part of the address.
  return text[at - length - 1] === '%' && length >= 2 ? length - 2 : length;
}

// Finds MAC addresses: six pairs of hex digits between colons or hyphens, or three groups of four between dots. Times,
// fingerprints, bytes of a dump, and addresses that belong to no device are excluded.
import { isWordCode, startsWord } from '../../boundary.ts';
import type { Detector } from '../../detector.ts';
import { isPlaceholder } from '../placeholders.ts';

const separators: ReadonlyMap<string, RegExp> = new Map([
  [':', /[0-9a-f]{2}(?::[0-9a-f]{2}){5}/iy],
  ['-', /[0-9a-f]{2}(?:-[0-9a-f]{2}){5}/iy],
  ['%3a', /[0-9a-f]{2}(?:%3a[0-9a-f]{2}){5}/iy],
  ['.', /[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}/iy],
]);

export const macAddress: Detector = {
  kind: 'mac_address',
  anchors: [...separators.keys()],
  reach: { before: 44, after: 44 },
  find: (text, at, end, found) => {
    const start = at - (text[at] === '.' ? 4 : 2);
    // The search continues only at the first separator of an address. Every later separator has another separator
    // before it.
    if (start < 0 || text[start - 1] === text[at] || !isWordCode(text.charCodeAt(start)) || !startsWord(text, start)) return;
    const separator = text.slice(at, end).toLowerCase();
    const pattern = separators.get(separator);
    if (pattern === undefined) return;
    pattern.lastIndex = start;
    if (!pattern.test(text)) return;
    const stop = pattern.lastIndex;
    if (hasAdjacentGroup(text, start, stop, separator)) return;
    if (isOfDevice(text.slice(start, stop).toLowerCase(), text.slice(Math.max(0, start - 40), start))) found(start, stop);
  },
};

/** Returns whether more groups follow or precede. The text is then a fingerprint, a serial number or a dump. */
function hasAdjacentGroup(text: string, start: number, stop: number, separator: string): boolean {
  if (isWordCode(text.charCodeAt(stop))) return true;
  const isMore = (from: number, by: number): boolean =>
    text.slice(from, from + separator.length).toLowerCase() === separator && isWordCode(text.charCodeAt(by));
  return isMore(stop, stop + separator.length) || isMore(start - separator.length, start - separator.length - 1);
}

// Multicast and broadcast (RFC 7042, 2.1; IEEE 802.1), and the range that RFC 7042 reserves for documents.
const ofNoDevice = /^(?:01005e|3333|0180c2|00005e0053|01000ccc|f{12}|0{11})/;
const saysHardware = /mac|ether|hw|hardware|bssid|station|lladdr|physical|device|arp|dhcp/i;

function isOfDevice(address: string, before: string): boolean {
  const digits = address.replaceAll(/%3a|[:.-]/g, '');
  if (ofNoDevice.test(digits) || isPlaceholder(digits) || /^(?:001122|112233|aabbcc|deadbe|123456)/.test(digits)) return false;
  // Digits without letters are not enough: `20-11-25-10-33-12` is a time, and `2025.1118.0914` a build number.
  return /[a-f]/.test(digits) || saysHardware.test(before) || /^00[:-]/.test(address);
}

const named = /(?:[ _-]?addr(?:ess)?(?:es)?|[ _-]?id|地址|アドレス|-adresse)?["'\\]{0,4}[:=： ]["'\\:=>\s[]{0,6}([0-9a-f]{12})/iy;

/** Finds twelve hex digits without separators, next to a word for a MAC address. */
export const namedMacAddress: Detector = {
  kind: 'mac_address',
  anchors: ['mac', 'bssid', 'hwaddr', 'lladdr', 'ethernet'],
  reach: { before: 2, after: 48 },
  find: (text, at, end, found) => {
    const isCamel = text[at] === 'M' && /[a-z]/.test(text.charAt(at - 1));
    if (!isCamel && !startsWord(text, at)) return;
    named.lastIndex = end;
    const digits = named.exec(text)?.[1];
    if (digits === undefined || isWordCode(text.charCodeAt(named.lastIndex))) return;
    if (isOfDevice(digits.toLowerCase(), 'mac')) found(named.lastIndex - 12, named.lastIndex);
  },
};

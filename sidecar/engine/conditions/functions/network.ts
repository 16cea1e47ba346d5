// `ip(text)`, `cidr(text)` and `domain(text)`. A text that programs read in different ways is undecided.
import { isIP } from 'node:net';
import type { Site } from '../environment.ts';
import { OwnValue, type Undecided } from '../values.ts';
import { type CelFunction, quoted } from './function.ts';
import { urlFunctions } from './url.ts';

class IpValue extends OwnValue {
  readonly typeName = 'ip';
  readonly bits: 32 | 128;
  readonly value: bigint;
  constructor(bits: 32 | 128, value: bigint) {
    super();
    this.bits = bits;
    this.value = value;
  }
  equals(other: IpValue): boolean {
    return this.bits === other.bits && this.value === other.value;
  }
}

class CidrValue extends OwnValue {
  readonly typeName = 'cidr';
  /** Its lowest address. */
  readonly ip: IpValue;
  readonly length: number;
  constructor(ip: IpValue, length: number) {
    super();
    this.ip = ip;
    this.length = length;
  }
  equals(other: CidrValue): boolean {
    return this.length === other.length && this.ip.equals(other.ip);
  }
  contains({ bits, value }: IpValue): boolean {
    const shift = BigInt(this.ip.bits - this.length);
    return bits === this.ip.bits && value >> shift === this.ip.value >> shift;
  }
}

const addressLengthMax = 45;

/** Returns the address as it is written. Null: the text is no address, or an IPv6 address with a zone. */
function writtenAddress(text: string): IpValue | null {
  if (text.length > addressLengthMax || text.includes('%')) return null;
  switch (isIP(text)) {
    case 4:
      return new IpValue(32, joined(octetsOf(text), 8n));
    case 6:
      return new IpValue(128, joined(groupsOf(text), 16n));
    default:
      return null;
  }
}

const joined = (parts: readonly number[], bits: bigint): bigint => parts.reduce((sum, part) => (sum << bits) | BigInt(part), 0n);

const octetsOf = (text: string): readonly number[] => text.split('.').map(Number);

/** Returns the eight groups of an IPv6 address. */
function groupsOf(text: string): readonly number[] {
  const [left = [], right = []] = text.split('::').map((half) => (half === '' ? [] : half.split(':').flatMap(partGroups)));
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

/** The last part may be an IPv4 address, which is two groups. */
function partGroups(part: string): readonly number[] {
  if (!part.includes('.')) return [Number.parseInt(part, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = octetsOf(part);
  return [a * 256 + b, c * 256 + d];
}

/** Null: the text is no range, its address has bits outside of the range, or it is an IPv4 address inside IPv6. */
function parseCidr(text: string): CidrValue | null {
  const [address = '', digits = '', ...more] = text.split('/', 3);
  const ip = writtenAddress(address);
  if (ip === null || more.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(digits)) return null;
  const length = Number(digits);
  if (length > ip.bits || isMapped(ip)) return null;
  const shift = BigInt(ip.bits - length);
  return (ip.value >> shift) << shift === ip.value ? new CidrValue(ip, length) : null;
}

/** Whether the address is an IPv4 address in the form `::ffff:10.0.0.1`. */
const isMapped = ({ bits, value }: IpValue): boolean => bits === 128 && value >> 32n === 0xffffn;

/** Addresses that contain an IPv4 address, which a translator or a tunnel may reach: NAT64, SIIT, 6to4 and Teredo. */
const translated: readonly CidrValue[] = ['64:ff9b::/96', '64:ff9b:1::/48', '::ffff:0:0:0/96', '2002::/16', '2001::/32'].flatMap(
  (range) => parseCidr(range) ?? [],
);
/** The old form for IPv4 addresses. `::` and `::1` are addresses of their own. */
const isCompatible = ({ bits, value }: IpValue): boolean => bits === 128 && value >> 32n === 0n && value > 1n;

/** Null: the text is no address, or an IPv6 address that may reach an IPv4 address. A mapped address is its IPv4 address. */
function parseIp(text: string): IpValue | null {
  const ip = writtenAddress(text);
  if (ip === null) return null;
  if (isMapped(ip)) return new IpValue(32, ip.value & 0xffff_ffffn);
  return isCompatible(ip) || translated.some((range) => range.contains(ip)) ? null : ip;
}

function toIp(value: unknown, site: Site): IpValue | Undecided {
  if (value instanceof IpValue) return value;
  return typeof value === 'string' ? (parseIp(value) ?? site.unclear) : site.type;
}

function toCidr(value: unknown, site: Site): CidrValue | Undecided {
  if (value instanceof CidrValue) return value;
  return typeof value === 'string' ? (parseCidr(value) ?? site.unclear) : site.type;
}

const containsIP: CelFunction = {
  arity: [2, 2],
  apply: ([range, value], _env, site) => {
    const ip = toIp(value, site);
    if (!(range instanceof CidrValue)) return site.type;
    return ip instanceof IpValue ? range.contains(ip) : ip;
  },
};

const mailLengthMax = 320;
// Only letters and signs that no mail program reads as a route, a comment, an option or a second address.
const localPart = String.raw`(?!-)[A-Za-z0-9_'+-]+(?:\.[A-Za-z0-9_'+-]+)*`;
const domainLabel = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const mail = new RegExp(`^(?=.{1,64}@)${localPart}@((?:${domainLabel}\\.)+(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{0,58}[A-Za-z0-9]))$`);

/** Returns the domain of exactly one plain mail address, in lower case. Null: the text may be read as something else. */
function domainOf(text: string): string | null {
  const domain = text.length > mailLengthMax ? undefined : mail.exec(text)?.[1]?.toLowerCase();
  return domain === undefined || domain.length > 253 ? null : domain;
}

/** A function of one text. A text in the condition is read when the condition is compiled. */
const ofText = (parse: (value: unknown, site: Site) => unknown, read: (text: string) => unknown, wanted: string): CelFunction => ({
  arity: [1, 1],
  apply: ([value], _env, site) => parse(value, site),
  prepare: ([text]) => {
    if (text === undefined) return undefined;
    const value = read(text);
    return value === null ? `the text ${quoted(text)}, which is no ${wanted}` : () => value;
  },
});

export const networkFunctions: Readonly<Record<string, CelFunction>> = {
  ...urlFunctions,
  ip: ofText(toIp, parseIp, 'plain IP address such as "10.0.0.1"'),
  cidr: ofText(toCidr, parseCidr, 'address and prefix length such as "10.0.0.0/8"'),
  containsIP,
  domain: ofText(
    (value, site) => (typeof value === 'string' ? (domainOf(value) ?? site.unclear) : site.type),
    domainOf,
    'single mail address such as "a@example.com"',
  ),
};

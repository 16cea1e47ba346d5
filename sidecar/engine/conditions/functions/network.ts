// `url(text)`, `ip(text)`, `cidr(text)` and `domain(text)`. A text that programs read in different ways is undecided.
import type { Site } from '../environment.ts';
import { OwnValue, type Undecided } from '../values.ts';
import type { CelFunction } from './function.ts';

const urlLengthMax = 8_192;

class UrlValue extends OwnValue {
  readonly typeName = 'url';
  readonly fields: ReadonlyMap<string, unknown>;
  readonly text: string;
  constructor(text: string, fields: ReadonlyMap<string, unknown>) {
    super();
    this.text = text;
    this.fields = fields;
  }
  equals(other: UrlValue): boolean {
    return this.text === other.text;
  }
  override field(name: string): unknown {
    return this.fields.get(name);
  }
}

export const urlFields = ['scheme', 'host', 'port', 'path'] as const;

const defaultPorts: Readonly<Record<string, bigint>> = { http: 80n, https: 443n, ws: 80n, wss: 443n, ftp: 21n };
// Spaces, control characters and the backslash: browsers remove or convert them, other programs do not.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
const misread = /[\u0000-\u0020\u007f-\u00a0\\]/;

/** Null: the text is no absolute URL, or programs disagree about its host. */
function parseUrl(text: string): UrlValue | null {
  if (text.length > urlLengthMax || misread.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  // A user name is often mistaken for the host, as in `https://good.example@bad.example`.
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) return null;
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  if (host.includes('%') || host.endsWith('.')) return null;
  const scheme = url.protocol.slice(0, -1);
  const port = url.port === '' ? (Object.hasOwn(defaultPorts, scheme) ? defaultPorts[scheme] : undefined) : BigInt(url.port);
  const fields = new Map<string, unknown>([
    ['scheme', scheme],
    ['host', host.startsWith('[') ? host.slice(1, -1) : host],
    ['path', url.pathname],
    ...(port === undefined ? [] : ([['port', port]] as const)),
  ]);
  return new UrlValue(url.href, fields);
}

/** What stands between the scheme and the path, as every program reads it. */
const authorityOf = (text: string): string => /^[^:]*:\/*([^/?#]*)/.exec(text)?.[1] ?? '';

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

const octet = /^(?:0|[1-9]\d{0,2})$/;

function parseIpv4(text: string): bigint | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => octet.test(part) && Number(part) <= 255)) return null;
  return parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

const group = /^[0-9a-fA-F]{1,4}$/;

function parseIpv6(text: string): bigint | null {
  const last = text.lastIndexOf(':');
  const tail = text.slice(last + 1);
  const v4 = tail.includes('.') ? parseIpv4(tail) : undefined;
  if (v4 === null || last < 0) return null;
  const hex = v4 === undefined ? text : `${text.slice(0, last + 1)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`;
  const halves = hex.split('::');
  if (halves.length > 2) return null;
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - left.length - right.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...left, ...Array.from({ length: missing }, () => '0'), ...right];
  return groups.every((one) => group.test(one)) ? groups.reduce((sum, one) => (sum << 16n) | BigInt(`0x${one}`), 0n) : null;
}

/** IPv6 addresses that contain an IPv4 address which translators reach: NAT64, 6to4, Teredo, and the old compatible form. */
const translated: readonly (readonly [prefix: bigint, length: number])[] = [
  [0x64_ff9bn << 96n, 96],
  [0x64_ff9b_0001n << 80n, 48],
  [0x2002n << 112n, 16],
  [0x2001_0000n << 96n, 32],
];

/** Null: the text is no address. An IPv4 address inside an IPv6 address (`::ffff:10.0.0.1`) is that IPv4 address. */
function parseIp(text: string): IpValue | 'translated' | null {
  if (text.length > 45) return null;
  const v4 = parseIpv4(text);
  if (v4 !== null) return new IpValue(32, v4);
  const v6 = parseIpv6(text);
  if (v6 === null) return null;
  if (v6 >> 32n === 0xffffn) return new IpValue(32, v6 & 0xffff_ffffn);
  const isCompatible = v6 >> 32n === 0n && v6 > 1n;
  const isTranslated = translated.some(([prefix, length]) => v6 >> BigInt(128 - length) === prefix >> BigInt(128 - length));
  return isCompatible || isTranslated ? 'translated' : new IpValue(128, v6);
}

function toIp(value: unknown, site: Site): IpValue | Undecided {
  if (value instanceof IpValue) return value;
  if (typeof value !== 'string') return site.type;
  const ip = parseIp(value);
  return ip instanceof IpValue ? ip : site.unclear;
}

/** Null: the text is no range, or its address has bits outside of the range. */
function parseCidr(text: string): CidrValue | null {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return null;
  const raw = ip === 'translated' ? rawIpv6(address) : ip;
  if (raw === null || Number(length) > raw.bits) return null;
  // `::ffff:10.0.0.0/104` is a range of IPv6 written around an IPv4 address, and cannot be meant as an IPv4 range.
  if (raw.bits === 32 && address.includes(':')) return null;
  const shift = BigInt(raw.bits - Number(length));
  return (raw.value >> shift) << shift === raw.value ? new CidrValue(raw, Number(length)) : null;
}

function rawIpv6(text: string): IpValue | null {
  const value = parseIpv6(text);
  return value === null ? null : new IpValue(128, value);
}

function toCidr(value: unknown, site: Site): CidrValue | Undecided {
  if (value instanceof CidrValue) return value;
  if (typeof value !== 'string') return site.type;
  return parseCidr(value) ?? site.unclear;
}

const mailLengthMax = 320;
const mail = /^[A-Za-z0-9.!#$&'*+/=?^_`{|}~-]{1,64}@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63})\.?$/;

/** Returns the domain of exactly one plain mail address, in lower case. Null: the text may be read as something else. */
const domainOf = (text: string): string | null => (text.length > mailLengthMax ? null : (mail.exec(text)?.[1]?.toLowerCase() ?? null));

const ofText = (parse: (text: string) => unknown): CelFunction => ({
  arity: [1, 1],
  apply: ([text], _env, site) => (typeof text === 'string' ? (parse(text) ?? site.unclear) : site.type),
});

export const networkFunctions: Readonly<Record<string, CelFunction>> = {
  url: ofText(parseUrl),
  domain: ofText(domainOf),
  ip: { arity: [1, 1], apply: ([value], _env, site) => toIp(value, site) },
  cidr: {
    arity: [1, 1],
    apply: ([value], _env, site) => toCidr(value, site),
    prepare: ([text]) =>
      text === undefined || parseCidr(text) !== null
        ? undefined
        : `the range ${JSON.stringify(text.slice(0, 64))}, which is no address and prefix length such as "10.0.0.0/8"`,
  },
  containsIP: {
    arity: [2, 2],
    apply: ([range, value], _env, site) => {
      const ip = toIp(value, site);
      if (!(range instanceof CidrValue)) return site.type;
      return ip instanceof IpValue ? range.contains(ip) : ip;
    },
  },
};

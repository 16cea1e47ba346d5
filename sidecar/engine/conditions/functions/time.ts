// Functions of times. A time zone is looked up in the zone database that comes with Node, and never taken from the
// process.
import { secondNs } from '../arithmetic.ts';
import { spend } from '../environment.ts';
import { Duration, Timestamp } from '../values.ts';
import { type CelFunction, quoted } from './function.ts';

const msNs = 1_000_000n;
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Returns nanoseconds since 1970. Null: the text is no time of RFC 3339, or its day does not exist. */
export function parseTimestamp(text: string): bigint | null {
  const parts = rfc3339.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', sign, zoneHours, zoneMinutes] = parts;
  const [days, clock] = [[Number(year), Number(month) - 1, Number(day)] as const, [Number(hour), Number(minute), Number(second)] as const];
  // `Date.UTC` takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(...days);
  if (date.getUTCMonth() !== days[1] || date.getUTCDate() !== days[2]) return null;
  if (clock[0] > 23 || clock[1] > 59 || clock[2] > 59) return null;
  const zone = [Number(zoneHours ?? 0), Number(zoneMinutes ?? 0)] as const;
  if (zone[0] > 23 || zone[1] > 59) return null;
  const offset = (zone[0] * 60 + zone[1]) * (sign === '-' ? -60 : 60);
  const seconds = date.getTime() / 1000 + clock[0] * 3600 + clock[1] * 60 + clock[2] - offset;
  return BigInt(seconds) * secondNs + BigInt(fraction.padEnd(9, '0'));
}

const withFraction = (seconds: string, ns: bigint): string =>
  ns === 0n ? seconds : `${seconds}.${String(ns).padStart(9, '0').replace(/0+$/, '')}`;

/** Splits into whole seconds since 1970, rounded down, and the nanoseconds of the second. */
function splitTime(ns: bigint): { readonly seconds: bigint; readonly rest: bigint } {
  const rest = ((ns % secondNs) + secondNs) % secondNs;
  return { seconds: (ns - rest) / secondNs, rest };
}

export function timestampText(ns: bigint): string {
  const { seconds, rest } = splitTime(ns);
  const date = new Date(Number(seconds) * 1000).toISOString().replace(/\.000Z$/, '');
  return `${withFraction(date, rest)}Z`;
}

const units: Readonly<Record<string, bigint>> = {
  h: 3600n * secondNs,
  m: 60n * secondNs,
  s: secondNs,
  ms: msNs,
  us: 1000n,
  µs: 1000n,
  ns: 1n,
};
const durationPart = /(\d*)(?:\.(\d*))?(h|ms|m|s|us|µs|ns)/y;

/** Returns nanoseconds. Null: the text is no duration, such as `1h30m` or `-1.5s`. */
export function parseDuration(text: string): bigint | null {
  if (text.length > 64) return null;
  const isNegative = text.startsWith('-');
  const body = /^[+-]/.test(text) ? text.slice(1) : text;
  if (body === '0') return 0n;
  let ns = 0n;
  let at = 0;
  while (at < body.length) {
    durationPart.lastIndex = at;
    const part = durationPart.exec(body);
    if (part === null) return null;
    const [all, whole = '', fraction = '', unit = ''] = part;
    if (whole === '' && fraction === '') return null;
    const scale = units[unit] ?? 0n;
    ns += BigInt(whole === '' ? 0 : whole) * scale;
    if (fraction !== '') ns += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    at += all.length;
  }
  if (body === '') return null;
  return isNegative ? -ns : ns;
}

export function durationText(ns: bigint): string {
  const size = ns < 0n ? -ns : ns;
  return `${ns < 0n ? '-' : ''}${withFraction(String(size / secondNs), size % secondNs)}s`;
}

const fixedOffset = /^([+-]?)([01]\d|2[0-3]):([0-5]\d)$/;
/** The form of names in the zone database. A text of the input in another form is not kept. */
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
/** The steps for a zone that is not a text in the condition: its rules may have to be loaded. */
const zoneSteps = 100;

/** Returns a date whose UTC fields are the fields of a time in a zone. `ms`: since 1970, whole seconds. */
type ZoneReader = (ms: number) => Date;

const inUtc: ZoneReader = (ms) => new Date(ms);

/** Null: there is no such zone. */
function zoneReader(zone: string): ZoneReader | null {
  if (zone === 'UTC') return inUtc;
  const fixed = fixedOffset.exec(zone);
  if (fixed === null) return zoneName.test(zone) ? namedZone(zone) : null;
  const [, sign, hours, minutes] = fixed;
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000);
  return (ms) => new Date(ms + offset);
}

const namedZones = new Map<string, ZoneReader | null>();
const namedZonesMax = 200;

function namedZone(zone: string): ZoneReader | null {
  const known = namedZones.get(zone);
  if (known !== undefined) return known;
  const reader = loadZone(zone);
  if (namedZones.size >= namedZonesMax) namedZones.clear();
  namedZones.set(zone, reader);
  return reader;
}

function loadZone(zone: string): ZoneReader | null {
  const formatter = formatterOf(zone);
  if (formatter === null) return null;
  // Formatting takes long, and conditions read several fields of the same second.
  let last = { ms: 0, date: formatted(formatter, 0) };
  return (ms) => {
    if (last.ms !== ms) last = { ms, date: formatted(formatter, ms) };
    return last.date;
  };
}

function formatterOf(zone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
      era: 'short',
    });
  } catch {
    // The zone database has no zone of this name.
    return null;
  }
}

function formatted(formatter: Intl.DateTimeFormat, ms: number): Date {
  const fields = new Map(formatter.formatToParts(ms).map(({ type, value }) => [type, value]));
  const field = (name: Intl.DateTimeFormatPartTypes): number => Number(fields.get(name));
  const date = new Date(0);
  const year = fields.get('era') === 'BC' ? 1 - field('year') : field('year');
  date.setUTCFullYear(year, field('month') - 1, field('day'));
  date.setUTCHours(field('hour'), field('minute'), field('second'));
  return date;
}

const dayMs = 86_400_000;

function dayOfYear(date: Date): number {
  const first = new Date(0);
  first.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - first.getTime()) / dayMs);
}

/** A field of a time, in UTC or in a zone. `ofDuration`: the same of a duration, if it has such a field. */
function timeField(read: (date: Date, ns: bigint) => number, ofDuration?: (ns: bigint) => bigint): CelFunction {
  const field = ({ ns }: Timestamp, zone: ZoneReader): bigint => BigInt(read(zone(Number(splitTime(ns).seconds) * 1000), ns));
  return {
    arity: [1, 2],
    apply: ([time, zone], env, site) => {
      if (time instanceof Duration && zone === undefined && ofDuration !== undefined) return ofDuration(time.ns);
      if (!(time instanceof Timestamp)) return site.type;
      if (zone === undefined) return field(time, inUtc);
      if (typeof zone !== 'string') return site.type;
      if (!spend(env, zoneSteps)) return site.budget;
      const reader = zoneReader(zone);
      return reader === null ? site.unclear : field(time, reader);
    },
    prepare: ([, zone]) => {
      if (zone === undefined) return undefined;
      const reader = zoneReader(zone);
      if (reader === null) return `the time zone ${quoted(zone)}, which does not exist`;
      return ([time], _env, site) => (time instanceof Timestamp ? field(time, reader) : site.type);
    },
  };
}

export const timeFunctions: Readonly<Record<string, CelFunction>> = {
  getFullYear: timeField((date) => date.getUTCFullYear()),
  getMonth: timeField((date) => date.getUTCMonth()),
  getDate: timeField((date) => date.getUTCDate()),
  getDayOfMonth: timeField((date) => date.getUTCDate() - 1),
  getDayOfWeek: timeField((date) => date.getUTCDay()),
  getDayOfYear: timeField(dayOfYear),
  getHours: timeField(
    (date) => date.getUTCHours(),
    (ns) => ns / (3600n * secondNs),
  ),
  getMinutes: timeField(
    (date) => date.getUTCMinutes(),
    (ns) => ns / (60n * secondNs),
  ),
  getSeconds: timeField(
    (date) => date.getUTCSeconds(),
    (ns) => ns / secondNs,
  ),
  getMilliseconds: timeField(
    (_date, ns) => Number(splitTime(ns).rest / msNs),
    (ns) => (ns % secondNs) / msNs,
  ),
};

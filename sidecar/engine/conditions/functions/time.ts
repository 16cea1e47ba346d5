// Functions of times. A time zone is looked up in the zone database that comes with Node, and never taken from the
// process.
import { secondNs } from '../arithmetic.ts';
import type { Site } from '../environment.ts';
import { Duration, Timestamp } from '../values.ts';
import type { CelFunction } from './function.ts';

const msNs = 1_000_000n;
const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

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

/** Splits into whole seconds since 1970, rounded down, and nanoseconds of the second. */
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
  // The micro sign, and the Greek letter.
  '\u00b5s': 1000n,
  '\u03bcs': 1000n,
  ns: 1n,
};
const durationPart = /(\d*)(?:\.(\d*))?(h|ms|m|s|us|\u00b5s|\u03bcs|ns)/y;

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

/** Returns what a clock of the zone is ahead of UTC, in ms, at a time in ms since 1970. */
type Zone = (ms: number) => number;

const fixedOffset = /^([+-]?)(\d\d):(\d\d)$/;
// Node accepts other names than those of the zone database, and not every version the same.
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;
const zones = new Map<string, Zone>();
const zonesMax = 600;

/** Null: there is no such zone. */
function zoneOf(name: string): Zone | null {
  const fixed = fixedOffset.exec(name);
  if (fixed !== null) return fixedZone(Number(fixed[2]), Number(fixed[3]), fixed[1] === '-');
  if (!zoneName.test(name)) return null;
  const key = name.toLowerCase();
  const known = zones.get(key);
  if (known !== undefined) return known;
  const made = namedZone(name);
  if (made === null) return null;
  if (zones.size >= zonesMax) zones.clear();
  zones.set(key, made);
  return made;
}

function fixedZone(hours: number, minutes: number, isBehind: boolean): Zone | null {
  if (hours > 23 || minutes > 59) return null;
  const offset = (hours * 60 + minutes) * (isBehind ? -60_000 : 60_000);
  return () => offset;
}

const minuteMs = 60_000;
/** Since then, clocks are changed only at whole minutes of UTC. */
const wholeMinutesSince = Date.UTC(1973, 0, 1);

function namedZone(name: string): Zone | null {
  const formatter = formatterOf(name);
  if (formatter === null) return null;
  // Conditions ask for the current time, and asking the formatter takes some microseconds.
  let [minute, offset] = [Number.NaN, 0];
  return (ms) => {
    if (ms < wholeMinutesSince) return offsetOf(formatter, ms);
    const now = Math.floor(ms / minuteMs);
    if (now !== minute) [minute, offset] = [now, offsetOf(formatter, now * minuteMs)];
    return offset;
  };
}

function formatterOf(timeZone: string): Intl.DateTimeFormat | null {
  const numeric = 'numeric';
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
      era: 'short',
    });
  } catch {
    // The zone database has no zone of this name.
    return null;
  }
}

function offsetOf(formatter: Intl.DateTimeFormat, ms: number): number {
  const fields = new Map(formatter.formatToParts(ms).map(({ type, value }) => [type, value]));
  const field = (name: Intl.DateTimeFormatPartTypes): number => Number(fields.get(name));
  const date = new Date(0);
  const year = fields.get('era') === 'BC' ? 1 - field('year') : field('year');
  date.setUTCFullYear(year, field('month') - 1, field('day'));
  date.setUTCHours(field('hour'), field('minute'), field('second'));
  return date.getTime() - ms;
}

const dayMs = 86_400_000;

function dayOfYear(date: Date): number {
  const first = new Date(0);
  first.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - first.getTime()) / dayMs);
}

const utc: Zone = () => 0;

/** A field of a time, in UTC or in a zone. `ofDuration`: the same of a duration, if it has such a field. */
function timeField(read: (date: Date, ns: bigint) => number, ofDuration?: (ns: bigint) => bigint): CelFunction {
  // The UTC fields of the date are the fields of the time in the zone.
  const fieldIn = (time: unknown, zone: Zone, site: Site): unknown => {
    if (!(time instanceof Timestamp)) return site.type;
    const ms = Number(splitTime(time.ns).seconds) * 1000;
    return BigInt(read(new Date(ms + zone(ms)), time.ns));
  };
  return {
    arity: [1, 2],
    apply: ([time, ...zones], _env, site) => {
      if (zones.length > 0) return site.type;
      return time instanceof Duration && ofDuration !== undefined ? ofDuration(time.ns) : fieldIn(time, utc, site);
    },
    prepare: (literals) => {
      if (literals.length < 2) return undefined;
      const [, name] = literals;
      // A caller could otherwise choose the zone.
      if (name === undefined) return 'a time zone that is no text in quotes';
      const zone = zoneOf(name);
      if (zone === null)
        return `the time zone ${JSON.stringify(name.slice(0, 64))}, which does not exist; it needs a name such as "Europe/Berlin"`;
      return ([time], _env, site) => fieldIn(time, zone, site);
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

// Parses a time on the command line: an ISO 8601 date-time, or a duration before or after now (`15m`, `24h`, `30d`).
import { Failure } from './failure.ts';

const form = /^(\d{1,6})([smhdw])$/;
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

export const timeAgo = (option: string, text: string, now: Date): string => timeAt(option, text, now, -1);
export const timeAhead = (option: string, text: string, now: Date): string => timeAt(option, text, now, 1);

function timeAt(option: string, text: string, now: Date, direction: 1 | -1): string {
  const [, count, unit = ''] = form.exec(text) ?? [];
  const at = new Date(now.getTime() + direction * Number(count) * (unitMs[unit] ?? 0));
  if (count !== undefined && !Number.isNaN(at.getTime())) return at.toISOString();
  // The server validates dates. This check only distinguishes a date from a mistyped duration.
  const [day] = /^\d{4}-\d{2}-\d{2}/.exec(text) ?? [];
  if (day !== undefined) {
    const midnight = new Date(`${day}T00:00:00Z`);
    // `Date` would turn the 30th of February into a day in March.
    if (Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day)
      throw new Failure(`${option} ${text} contains a day that does not exist`);
    // The tables print times with a space in place of `T`. Such a time is accepted too.
    return text.replace(/^(\S{10}) (?=\d)/, '$1T');
  }
  throw new Failure(`${option} must be a time such as 15m, 24h or 30d, or an ISO 8601 date-time, but is ${text}`);
}

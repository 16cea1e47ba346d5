// Times in the reader's zone; UTC when the pointer or the keyboard is on them.
import { Tooltip } from '@mantine/core';

const near = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const far = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const isToday = (at: Date): boolean => at.toDateString() === new Date().toDateString();

/** Returns an instant in the reader's zone, without the day if it is today. `at`: ISO 8601. */
export function instantWords(at: string): string {
  const instant = new Date(at);
  return (isToday(instant) ? near : far).format(instant);
}

/** `at`: ISO 8601. */
export function When({ at }: { readonly at: string }) {
  const instant = new Date(at);
  return (
    <Tooltip label={instant.toISOString().replace('T', ' ').replace('Z', ' UTC')} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} tabIndex={0} style={{ whiteSpace: 'nowrap' }}>
        {instantWords(at)}
      </time>
    </Tooltip>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** A time in a row of a list: narrow, and without a stop for the keyboard. UTC on hover. */
export function Clock({ at }: { readonly at: string }) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={instant.toISOString().replace('T', ' ').replace('Z', ' UTC')} style={{ whiteSpace: 'nowrap' }}>
      {(isToday(instant) ? clock : day).format(instant)}
    </time>
  );
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** Returns how long a time is, in its largest unit: `45 s`, `2 min`, `3 h`, `2 d`. */
export function lengthWords(seconds: number): string {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h` : `${Math.floor(seconds / 86_400).toLocaleString()} d`;
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'short' });

/** Returns how long ago or ahead an instant is, such as `3 min. ago`. */
export function fromNow(at: string, now = Date.now()): string {
  const seconds = Math.round((new Date(at).getTime() - now) / 1_000);
  const [unit, length] = units.find(([, one]) => Math.abs(seconds) >= one) ?? units[3];
  return relative.format(Math.trunc(seconds / length), unit);
}

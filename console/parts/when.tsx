// Times in the reader's zone; UTC when the pointer, the keyboard or a finger is on them. One rule for all pages: the date
// is shown if the time is not of today, or if what is shown with it covers more than a day.
import { Tooltip } from '@mantine/core';
import { type MouseEvent, useState } from 'react';
import './when.css';

const near = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const far = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
});

const isToday = (at: Date): boolean => at.toDateString() === new Date().toDateString();
const utcOf = (at: Date): string => at.toISOString().replace('T', ' ').replace('Z', ' UTC');

/** Returns an instant in the reader's zone, without the day if it is today. `at`: ISO 8601. */
export function instantWords(at: string, hasDate = false): string {
  const instant = new Date(at);
  return (isToday(instant) && !hasDate ? near : far).format(instant);
}

const dayMs = 86_400_000;

/** Whether times from `since` to `until` are shown with their date. `until` null: up to now. */
export const isLongerThanDay = (since: string, until: string | null): boolean =>
  (until === null ? Date.now() : Date.parse(until)) - Date.parse(since) > dayMs;

interface WhenProps {
  /** ISO 8601. */
  readonly at: string;
  /** Shows the date of today too: the time is one of a range that is longer than a day, or of any age. */
  readonly hasDate?: boolean;
}

export function When({ at, hasDate = false }: WhenProps) {
  const instant = new Date(at);
  return (
    <Tooltip label={utcOf(instant)} events={{ hover: true, focus: true, touch: true }}>
      <time dateTime={at} tabIndex={0} className="when">
        {instantWords(at, hasDate)}
      </time>
    </Tooltip>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** A time in a row of a list: narrow, and without a stop for the keyboard. UTC on hover; a tap on touch puts it in its place. */
export function Clock({ at, hasDate = false }: WhenProps) {
  const [isUtc, setUtc] = useState(false);
  const instant = new Date(at);
  const onClick = (event: MouseEvent): void => {
    if (!matchMedia('(hover: none)').matches) return;
    // A row opens its call on a click that no part of it has taken.
    event.preventDefault();
    setUtc(!isUtc);
  };
  return (
    <time dateTime={at} title={utcOf(instant)} style={{ whiteSpace: 'nowrap' }} onClick={onClick}>
      {isUtc ? utcOf(instant) : (isToday(instant) && !hasDate ? clock : day).format(instant)}
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

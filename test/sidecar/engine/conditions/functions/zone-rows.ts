// Times in zones, around changes of the clock. Run as a script, it prints what conditions answer, as JSON: a test runs it
// in a process that has a time zone of its own.
import { answerOf } from './answers.ts';

/** A condition with `now`, and the time in UTC. All hold. */
export const zoneRows: readonly (readonly [condition: string, now: string])[] = [
  ['now.getHours() == 23 && now.getHours("UTC") == 23', '2026-03-28T23:30:00Z'],
  // Berlin: from 2 to 3 o'clock on 29 March, from 3 to 2 o'clock on 25 October.
  ['now.getHours("Europe/Berlin") == 1 && now.getMinutes("Europe/Berlin") == 59', '2026-03-29T00:59:59Z'],
  ['now.getHours("Europe/Berlin") == 3 && now.getMinutes("Europe/Berlin") == 0', '2026-03-29T01:00:00Z'],
  ['now.getHours("Europe/Berlin") == 2 && now.getMinutes("Europe/Berlin") == 59', '2026-10-25T00:59:59Z'],
  ['now.getHours("Europe/Berlin") == 2 && now.getMinutes("Europe/Berlin") == 0', '2026-10-25T01:00:00Z'],
  ['now.getHours("Europe/Berlin") == 3', '2026-10-25T02:00:00Z'],
  // New York: the hour that a process in that zone skips.
  ['now.getHours("America/New_York") == 1', '2026-03-08T06:59:59Z'],
  ['now.getHours("America/New_York") == 3', '2026-03-08T07:00:00Z'],
  ['now.getHours("UTC") == 2', '2026-03-08T02:30:00Z'],
  ['now.getHours("Europe/Zurich") == 2', '2026-03-08T01:30:00Z'],
  // Half an hour of summer time; a quarter of an hour from UTC.
  ['now.getHours("Australia/Lord_Howe") == 1 && now.getMinutes("Australia/Lord_Howe") == 59', '2026-10-03T15:29:00Z'],
  ['now.getHours("Australia/Lord_Howe") == 2 && now.getMinutes("Australia/Lord_Howe") == 30', '2026-10-03T15:30:00Z'],
  ['now.getHours("Asia/Kathmandu") == 5 && now.getMinutes("Asia/Kathmandu") == 45', '2026-01-01T00:00:00Z'],
  ['now.getHours("+02:00") == 1 && now.getHours("-02:30") == 20', '2026-01-01T23:00:00Z'],
  // Days: the zone has another one than UTC. Monday is 1.
  ['now.getDayOfWeek("Asia/Tokyo") == 1 && now.getDayOfWeek() == 0', '2026-03-01T20:00:00Z'],
  ['now.getDate("Asia/Tokyo") == 1 && now.getMonth("Asia/Tokyo") == 2 && now.getDate() == 28', '2026-02-28T20:00:00Z'],
  ['now.getFullYear("America/New_York") == 2025 && now.getDayOfYear("America/New_York") == 364', '2026-01-01T04:59:59Z'],
  ['now.getHours("Europe/Berlin") == 0 && now.getDayOfMonth("Europe/Berlin") == 0', '2026-01-31T23:00:00Z'],
  ['now.getSeconds("Europe/Berlin") == 59 && now.getMilliseconds("Europe/Berlin") == 250', '2026-01-31T23:00:59.250Z'],
];

if (process.argv[1] === import.meta.filename)
  process.stdout.write(
    JSON.stringify({
      offset: new Date('2026-01-01T00:00:00Z').getTimezoneOffset(),
      answers: zoneRows.map(([condition, now]) => answerOf(condition, {}, Date.parse(now))),
    }),
  );

// Parses ISO 8601 date-times as callers write them.
const form =
  /^(?!0000)(\d{4})-(\d{2})-(\d{2})(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?(?:Z|[+ -](?:0\d|1[0-4]):?[0-5]\d)?)?$/i;

const firstMs = Date.parse('0001-01-01T00:00:00.000Z');
const lastMs = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Returns the instant, or null if the text is not a valid date-time. A text without an offset is in UTC. A blank before
 * the offset is read as `+`, because the decoding of the query string replaced the `+` by a blank.
 */
export function parseInstant(text: string): Date | null {
  const parts = form.exec(text);
  if (parts === null) return null;
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = ''] = parts;
  const date = `${year}-${month}-${day}`;
  const local = new Date(`${date}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0').slice(0, 3)}Z`);
  // JavaScript would convert the 30th of February to a day in March.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 10) !== date) return null;
  const instant = new Date(local.getTime() - offsetMs(text));
  return isInstant(instant.getTime()) ? instant : null;
}

/**
 * Returns whether a time is in the years 1 to 9999. This program has no ISO 8601 form for year 0, and years after 9999
 * need a sign. The database accepts neither.
 */
export const isInstant = (ms: number): boolean => ms >= firstMs && ms <= lastMs;

export const instantWords = 'must be an ISO 8601 date-time such as 2026-06-25T12:00:00Z';

function offsetMs(text: string): number {
  const [, sign, hours, minutes] = /T.*([+ -])(\d{2}):?(\d{2})$/i.exec(text) ?? [];
  const ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === '-' ? -ms : ms;
}

// The day partitions of `audit_entry` (UTC). Made ahead by a chore, and on the spot by a batch whose entries are older
// than any; dropped whole when their day is out of retention. Safe when two replicas do it at once.
import type pg from 'pg';
import { patientQuery } from './transaction.ts';

const dayMs = 24 * 3_600_000;
/** Any number: held until the transaction ends by whoever makes or drops partitions. */
const partitionLock = 7_605_512;

/** `20260625`, for the UTC day of an instant. */
export const dayOf = (instant: Date): string => instant.toISOString().slice(0, 10).replaceAll('-', '');

const startOf = (day: string): Date => new Date(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6, 8)}T00:00:00Z`);
const nameOf = (day: string): string => `audit_entry_${day}`;

/** From the day of `from` to that of `to`, both included. */
export function daysBetween(from: Date, to: Date): readonly string[] {
  const days: string[] = [];
  for (let at = startOf(dayOf(from)).getTime(); at <= to.getTime(); at += dayMs) days.push(dayOf(new Date(at)));
  return days;
}

/** Makes those of the days that are missing, in the caller's transaction. */
export async function ensureDays(client: pg.PoolClient, days: readonly string[]): Promise<void> {
  await makeDays(client, await missingDays(client, days));
}

/** For days that were missing a moment ago. */
export async function makeDays(client: pg.PoolClient, days: readonly string[]): Promise<void> {
  if (days.length === 0) return;
  await client.query(patientQuery('select pg_advisory_xact_lock($1)', [partitionLock]));
  // Another replica may have made them while we waited.
  for (const day of await missingDays(client, days)) await createPartition(client, day);
}

/** Which days of a text[] parameter have no partition. By pg_class: `to_regclass` would answer from a cache that may not have heard of what others just committed. */
export const selectMissing = (parameter: string): string =>
  `select day from unnest(${parameter}::text[]) as day
   where not exists (select from pg_class where relname = '${nameOf('')}' || day and pg_table_is_visible(oid)) order by day`;

async function missingDays(client: pg.PoolClient, days: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ day: string }>(selectMissing('$1'), [days]);
  return rows.map(({ day }) => day);
}

/** Attached after it is made: `partition of` would lock the whole table against every reader. */
async function createPartition(client: pg.PoolClient, day: string): Promise<void> {
  const from = startOf(day);
  const to = new Date(from.getTime() + dayMs);
  await client.query(`create table ${nameOf(day)} (like audit_entry including defaults)`);
  await client.query(
    `alter table audit_entry attach partition ${nameOf(day)} for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  );
}

/** Drops every partition whose day is before that of `instant`; returns the days. */
export async function dropDaysBefore(client: pg.PoolClient, instant: Date): Promise<readonly string[]> {
  await client.query('select pg_advisory_xact_lock($1)', [partitionLock]);
  const { rows } = await client.query<{ day: string }>(
    `select right(inhrelid::regclass::text, 8) as day from pg_inherits where inhparent = 'audit_entry'::regclass order by 1`,
  );
  const old = rows.map(({ day }) => day).filter((day) => day < dayOf(instant));
  for (const day of old) await client.query(`drop table ${nameOf(day)}`);
  return old;
}

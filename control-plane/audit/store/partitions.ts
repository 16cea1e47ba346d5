// Manages the day partitions of `audit_entry` and of the tables that count its entries (UTC). A periodic job creates
// them in advance. If a batch contains entries that are older than all partitions, their partitions are created
// immediately. A day is dropped as a whole, with its counts, when it is out of retention. Safe when two replicas do it
// at the same time, and when a replica of the version that did not count does it.
import type pg from 'pg';
import { patientQuery, type Queryable } from '../../database/transaction.ts';

const dayMs = 24 * 3_600_000;
/** An arbitrary number. A process that creates or drops partitions holds this lock until its transaction ends. */
const partitionLock = 7_605_512;
const analyseLock = 7_605_513;
const dropLock = 7_605_514;

/** Returns the UTC day of an instant, such as `20260625`. */
export const dayOf = (instant: Date): string => instant.toISOString().slice(0, 10).replaceAll('-', '');

/** Returns the start of the UTC day of an instant. */
export const startOfDay = (instant: Date): Date => startOf(dayOf(instant));

/** Returns the start of a day, which is given as `YYYYMMDD`. */
export const startOf = (day: string): Date => new Date(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6, 8)}T00:00:00Z`);
const nameOf = (day: string): string => `audit_entry_${day}`;

/** The tables that count entries. A partition of them exists only while the log has one of the same day. */
const countTables = ['decision_count', 'finding_count'] as const;
const countNamesOf = (day: string): readonly string[] => countTables.map((table) => `${table}_${day}`);

/** Returns all days from the day of `from` to the day of `to`, both inclusive. */
export function daysBetween(from: Date, to: Date): readonly string[] {
  const days: string[] = [];
  for (let at = startOf(dayOf(from)).getTime(); at <= to.getTime(); at += dayMs) days.push(dayOf(new Date(at)));
  return days;
}

/** Creates the partitions of days that have none, in the caller's transaction. */
export async function ensureDays(client: pg.PoolClient, days: readonly string[]): Promise<void> {
  await makeDays(client, await missingDays(client, days));
}

/** Creates the partitions of days that lacked one at the last check. */
export async function makeDays(client: pg.PoolClient, days: readonly string[]): Promise<void> {
  if (days.length === 0) return;
  await client.query(patientQuery('select pg_advisory_xact_lock($1)', [partitionLock]));
  // Another replica may have created these partitions while this transaction waited for the lock.
  for (const day of await missingDays(client, days)) await createDay(client, day);
}

/**
 * SQL: the days of a text[] parameter that lack a partition. It uses pg_class, because `to_regclass` answers from a
 * cache that can lack recent commits of others.
 */
export const selectMissing = (parameter: string): string =>
  `select day from unnest(${parameter}::text[]) as day where ${1 + countTables.length} > (
     select count(*) from pg_class where pg_table_is_visible(oid)
       and relname = any(array[${[nameOf(''), ...countNamesOf('')].map((name) => `'${name}' || day`).join(', ')}]::name[])) order by day`;

async function missingDays(client: pg.PoolClient, days: readonly string[]): Promise<readonly string[]> {
  const { rows } = await client.query<{ day: string }>(selectMissing('$1'), [days]);
  return rows.map(({ day }) => day);
}

/**
 * Creates the partitions that a day lacks. A replica of the version that did not count may have created the day without
 * its counts, or dropped it and left its counts.
 */
async function createDay(client: pg.PoolClient, day: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select relname as name from pg_class where relname = any($1::name[]) and pg_table_is_visible(oid)',
    [[nameOf(day), ...countNamesOf(day)]],
  );
  const found = new Set(rows.map(({ name }) => name));
  if (!found.has(nameOf(day))) {
    const left = countNamesOf(day).filter((name) => found.delete(name));
    if (left.length > 0) await client.query(`drop table ${left.join(', ')}`);
    await createPartition(client, 'audit_entry', day);
  }
  for (const table of countTables) if (!found.has(`${table}_${day}`)) await createPartition(client, table, day);
}

/** The partition is attached after it is created, because `partition of` would lock the whole table for all readers. */
async function createPartition(client: pg.PoolClient, table: string, day: string): Promise<void> {
  const from = startOf(day);
  const to = new Date(from.getTime() + dayMs);
  // Rows of counts are updated often. With free space in its page, an update needs no new entry in the index.
  const fill = table === 'audit_entry' ? '' : ' with (fillfactor = 70)';
  await client.query(`create table ${table}_${day} (like ${table} including defaults)${fill}`);
  await client.query(
    `alter table ${table} attach partition ${table}_${day} for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
  );
}

/** Returns the days before the day of `instant` that have a partition, oldest first. */
export async function listDaysBefore(db: Queryable, instant: Date): Promise<readonly string[]> {
  const { rows } = await db.query<{ day: string }>(`select day from (${selectDays}) days where day < $1 order by day`, [dayOf(instant)]);
  return rows.map(({ day }) => day);
}

const selectDays = `select right(relname, 8) as day, relname, oid, reltuples
  from pg_class where oid in (select inhrelid from pg_inherits where inhparent = 'audit_entry'::regclass)`;

/**
 * Prevents other processes from dropping a day until the transaction ends. Returns false if this day is already
 * dropped.
 */
export async function lockDropping(client: pg.PoolClient, day: string): Promise<boolean> {
  await client.query('select pg_advisory_xact_lock($1)', [dropLock]);
  const { rowCount } = await client.query(`select from (${selectDays}) days where day = $1`, [day]);
  return rowCount === 1;
}

/** Like `lockDropping`, and also locks the whole log for all readers and writers. */
export async function lockDay(client: pg.PoolClient, day: string): Promise<boolean> {
  if (!(await lockDropping(client, day))) return false;
  await client.query('select pg_advisory_xact_lock($1)', [partitionLock]);
  await client.query('lock table audit_entry in access exclusive mode');
  return true;
}

/** Drops the entries of a day and what was counted from them. This transaction must have locked the day. */
export async function dropDay(client: pg.PoolClient, day: string): Promise<void> {
  await client.query(`drop table ${nameOf(day)}`);
  await client.query(`drop table if exists ${countNamesOf(day).join(', ')}`);
}

/** Drops the counts of days that a replica of the version that did not count has dropped from the log. */
export async function dropCountsLeft(client: pg.PoolClient): Promise<void> {
  const tables = countTables.map((table) => `'${table}'::regclass`).join(', ');
  const { rows } = await client.query<{ name: string }>(
    `select relname as name from pg_class where oid in (select inhrelid from pg_inherits where inhparent in (${tables}))
       and right(relname, 8) not in (select day from (${selectDays}) days)`,
  );
  if (rows.length === 0) return;
  await client.query('select pg_advisory_xact_lock($1)', [partitionLock]);
  for (const { name } of rows) {
    // Another replica may have created the day again while this transaction waited for the lock.
    const { rowCount } = await client.query(`select from (${selectDays}) days where day = $1`, [name.slice(-8)]);
    if (rowCount === 0) await client.query(`drop table if exists ${name}`);
  }
}

/**
 * Returns SQL that keeps the time and the digest of a day's entries. Entries before the start of exports are left out.
 */
export const retireDayText = (day: string): string =>
  `insert into audit_retired (workspace_id, ingest, ts, digest)
   select workspace_id, entry.ingest, ts, digest from ${nameOf(day)} entry join audit_head head using (workspace_id)
   where entry.ingest > greatest(head.kept_after, coalesce(($1::jsonb ->> workspace_id::text)::bigint, 0)) and digest is not null
   on conflict do nothing`;

/** Below this size, a scan is cheap without statistics. */
const analysedBytesMin = 1_048_576;

/**
 * Analyses days that have grown large, and days that have ended with changes. Returns these days. Only one control
 * plane at a time does this.
 */
export async function analyseDays(client: pg.PoolClient, now: Date): Promise<readonly string[]> {
  const { rows: turn } = await client.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [analyseLock]);
  if (turn[0]?.mine !== true) return [];
  const { rows } = await client.query<{ day: string }>(
    `select day from (${selectDays}) days join pg_stat_user_tables stat on stat.relid = days.oid
     where (reltuples < 0 and pg_relation_size(days.oid) >= $2)
       or (day < $1 and n_mod_since_analyze > 0
         and coalesce(greatest(last_analyze, last_autoanalyze), '-infinity') < (day::date + 1)::timestamp at time zone 'UTC')
     order by day`,
    [dayOf(now), analysedBytesMin],
  );
  for (const { day } of rows) await client.query(patientQuery(`analyze ${nameOf(day)}`, []));
  return rows.map(({ day }) => day);
}

/**
 * Returns whether a day was dropped while a batch with its entries was stored. In this case, the partition existed at
 * the check, but not at the insert.
 */
export const isDayGone = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '23514' && error.message.startsWith('no partition of relation');

-- Up Migration

-- New tables only, without rows. The entries that there are, are counted by the job that counts what a version without
-- counts has stored (statistics/operations/catch-up.ts): a log without a row in `count_head` is not counted at all.

-- No day of the log is created or dropped meanwhile (audit/store/partitions.ts).
select pg_advisory_xact_lock(7605512);

-- How often each decision was made, by minute and by hour. It is written in the transaction that stores the entries. One
-- partition a day, as the log has, and dropped with it. No foreign key, as the log has none.
create table decision_count (
  workspace_id bigint not null,
  -- When the row begins.
  at timestamptz not null,
  -- 60: the row is an hour, and counts its minutes. 24: it is a day (UTC), and counts its hours.
  slots smallint not null,
  -- The first 16 bytes of the SHA-256 of the next five columns, joined by NUL. The columns themselves can be too long for an index.
  key uuid not null,
  decision text collate "C" not null,
  -- Something was found in the input, and redacted.
  redacted boolean not null,
  -- Empty: the entry has no code.
  code text collate "C" not null,
  tool text collate "C" not null,
  agent_name text collate "C" not null,
  counts integer[] not null,
  -- The sum of `counts`.
  total integer not null,
  -- The times of the oldest and of the newest of these calls.
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (workspace_id, slots, at, key)
) partition by range (at);

-- What was redacted, by its kind, in the same way.
create table finding_count (
  workspace_id bigint not null,
  at timestamptz not null,
  slots smallint not null,
  kind text collate "C" not null,
  counts bigint[] not null,
  total bigint not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  primary key (workspace_id, slots, at, kind)
) partition by range (at);

-- The items of a log that are counted: those up to this number, of which the entries are still stored. It is behind
-- `audit_head`, or absent, only while there are entries that a version that does not count has stored.
create table count_head (
  workspace_id bigint primary key references workspace on delete cascade,
  ingest bigint not null
);

do $$
declare
  one text;
  day text;
  begins timestamptz;
begin
  for one in select relname from pg_class where oid in (select inhrelid from pg_inherits where inhparent = 'audit_entry'::regclass) loop
    day := right(one, 8);
    begins := day::date::timestamp at time zone 'UTC';
    execute format('create table %I partition of decision_count for values from (%L) to (%L) with (fillfactor = 70)',
      'decision_count_' || day, begins, begins + interval '24 hours');
    execute format('create table %I partition of finding_count for values from (%L) to (%L) with (fillfactor = 70)',
      'finding_count_' || day, begins, begins + interval '24 hours');
  end loop;
end $$;

-- Down Migration
drop table count_head, finding_count, decision_count;

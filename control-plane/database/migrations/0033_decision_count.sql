-- Up Migration

-- New tables only. They are filled from the entries that there are, so the migration takes about ten seconds for each
-- million entries. Until it has ended, the previous version keeps recording entries, except into days that have no
-- partition yet.

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
  -- The first 16 bytes of the SHA-256 of the next five columns. The columns themselves can be too long for an index.
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
-- `audit_head` only while a version that does not count stores entries.
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

-- One statement, so that it counts exactly the entries up to the numbers that it writes to `count_head`.
with head as (
  insert into count_head (workspace_id, ingest) select workspace_id, ingest from audit_head
),
call as (
  select workspace_id, date_trunc('minute', ts, 'UTC') as minute, decision,
    coalesce(entry -> 'transform' = '"redact"' and jsonb_typeof(entry -> 'findings') = 'array' and entry -> 'findings' <> '[]', false) as redacted,
    case when jsonb_typeof(entry -> 'code') = 'string' and entry ->> 'code' ~ '^[a-z0-9_]{1,64}$' then entry ->> 'code' else '' end as code,
    tool, agent_name, count(*) as n, min(ts) as first_at, max(ts) as last_at
  from audit_entry where entry ->> 'hookEvent' = 'PreToolUse'
  group by 1, 2, 3, 4, 5, 6, 7
),
call_slot as (
  select workspace_id, 60 as slots, date_trunc('hour', minute, 'UTC') as at, extract(minute from minute at time zone 'UTC')::integer as slot,
    decision, redacted, code, tool, agent_name, n, first_at, last_at from call
  union all
  select workspace_id, 24, date_trunc('day', minute, 'UTC'), extract(hour from minute at time zone 'UTC')::integer,
    decision, redacted, code, tool, agent_name, sum(n), min(first_at), max(last_at) from call
  group by 1, 2, 3, 4, 5, 6, 7, 8, 9
),
call_row as (
  select workspace_id, slots, at, decision, redacted, code, tool, agent_name, jsonb_object_agg(slot, n) as filled,
    sum(n) as total, min(first_at) as first_at, max(last_at) as last_at
  from call_slot group by 1, 2, 3, 4, 5, 6, 7, 8
),
decisions as (
  insert into decision_count (workspace_id, at, slots, key, decision, redacted, code, tool, agent_name, counts, total, first_at, last_at)
  select workspace_id, at, slots,
    encode(substring(sha256(
      convert_to(decision, 'UTF8') || '\x00' || convert_to(redacted::text, 'UTF8') || '\x00' || convert_to(code, 'UTF8') || '\x00'
      || convert_to(tool, 'UTF8') || '\x00' || convert_to(agent_name, 'UTF8')) from 1 for 16), 'hex')::uuid,
    decision, redacted, code, tool, agent_name,
    array(select coalesce((filled ->> slot::text)::integer, 0) from generate_series(0, slots - 1) slot order by slot),
    total, first_at, last_at
  from call_row
),
finding as (
  select workspace_id, date_trunc('minute', ts, 'UTC') as minute, one ->> 'kind' as kind, sum((one ->> 'count')::numeric) as n,
    min(ts) as first_at, max(ts) as last_at
  from audit_entry, jsonb_array_elements(case when jsonb_typeof(entry -> 'findings') = 'array' then entry -> 'findings' else '[]' end)
    with ordinality as found (one, place)
  where entry -> 'transform' = '"redact"' and place <= 32
    and jsonb_typeof(one -> 'kind') = 'string' and octet_length(one ->> 'kind') between 1 and 256
    and case when jsonb_typeof(one -> 'count') = 'number'
      then (one ->> 'count')::numeric between 1 and 1000000 and trunc((one ->> 'count')::numeric) = (one ->> 'count')::numeric else false end
  group by 1, 2, 3
),
finding_slot as (
  select workspace_id, 60 as slots, date_trunc('hour', minute, 'UTC') as at, extract(minute from minute at time zone 'UTC')::integer as slot,
    kind, n, first_at, last_at from finding
  union all
  select workspace_id, 24, date_trunc('day', minute, 'UTC'), extract(hour from minute at time zone 'UTC')::integer, kind,
    sum(n), min(first_at), max(last_at) from finding
  group by 1, 2, 3, 4, 5
),
finding_row as (
  select workspace_id, slots, at, kind, jsonb_object_agg(slot, n) as filled, sum(n) as total, min(first_at) as first_at, max(last_at) as last_at
  from finding_slot group by 1, 2, 3, 4
)
insert into finding_count (workspace_id, at, slots, kind, counts, total, first_at, last_at)
select workspace_id, at, slots, kind,
  array(select coalesce((filled ->> slot::text)::bigint, 0) from generate_series(0, slots - 1) slot order by slot),
  total, first_at, last_at
from finding_row;

-- Down Migration
drop table count_head, finding_count, decision_count;

-- Up Migration

-- How far each spool of each sidecar has come; locked while a batch of it is taken in.
create table audit_stream (
  workspace_id bigint not null references workspace on delete cascade,
  spool_id uuid not null,
  sequence bigint not null,
  primary key (workspace_id, spool_id)
);

-- Counts the entries of a workspace in the order of their commits: the row is locked until the batch commits.
create table audit_head (
  workspace_id bigint primary key references workspace on delete cascade,
  ingest bigint not null
);

-- One partition a day (UTC), named audit_entry_YYYYMMDD; store/partitions.ts makes them. No foreign key: it would be
-- checked for every row. The primary key also serves "newest first", and so does each index for its own filter.
create table audit_entry (
  workspace_id bigint not null,
  ts timestamptz not null,
  spool_id uuid not null,
  sequence bigint not null,
  ingest bigint not null,
  received_at timestamptz not null,
  tool text collate "C" not null,
  decision text collate "C" not null,
  agent_name text collate "C" not null,
  sub text collate "C" not null,
  session_id text collate "C" not null,
  -- The rest of the entry.
  entry jsonb not null,
  primary key (workspace_id, ts, spool_id, sequence)
) partition by range (ts);

create index audit_entry_tool on audit_entry (workspace_id, tool, ts, spool_id, sequence);
create index audit_entry_session on audit_entry (workspace_id, session_id, ts, spool_id, sequence);

-- Records that never arrived, and why.
create table audit_gap (
  workspace_id bigint not null references workspace on delete cascade,
  spool_id uuid not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  reason text not null,
  received_at timestamptz not null,
  primary key (workspace_id, spool_id, first_sequence)
);

-- Down Migration
drop table audit_gap, audit_entry, audit_head, audit_stream;

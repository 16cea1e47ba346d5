-- Up Migration

-- SHA-256 of the entry's canonical JSON, as every answer shows it. Null in entries from before there was a chain.
alter table audit_entry add column digest bytea;

-- Where the chain of a workspace stands. `ingest` counts its items, entries and gaps alike, in the order of their commits.
alter table audit_head
  add column log_id uuid not null default gen_random_uuid(),
  -- Items before there was a chain, of which it says nothing.
  add column begins_after bigint not null default 0,
  -- An export begins after this item: what is before is out of retention, or before the chain.
  add column kept_after bigint not null default 0,
  -- The value after item `ingest`; null before the first one.
  add column chain bytea;
update audit_head set begins_after = ingest, kept_after = ingest;

-- A gap is an item of the chain too. Null in gaps from before.
alter table audit_gap add column ingest bigint, add column digest bytea;
create unique index audit_gap_ingest on audit_gap (workspace_id, ingest) where ingest is not null;

-- When a spool last brought something, so that those of sidecars long gone can go.
alter table audit_stream add column seen_at timestamptz not null default now();

-- What is left of an entry that is out of retention, while the log around it is kept.
create table audit_retired (
  workspace_id bigint not null references workspace on delete cascade,
  ingest bigint not null,
  ts timestamptz not null,
  digest bytea not null,
  primary key (workspace_id, ingest)
);

-- What was signed. A size is signed once.
create table audit_checkpoint (
  workspace_id bigint not null references workspace on delete cascade,
  size bigint not null,
  chain bytea not null,
  made_at timestamptz not null,
  -- The signed note.
  note text not null,
  primary key (workspace_id, size)
);

-- The public keys of all control planes there have been, raw Ed25519.
create table audit_key (
  public_key bytea primary key,
  since timestamptz not null
);

-- Down Migration
drop table audit_key, audit_checkpoint, audit_retired;
alter table audit_stream drop column seen_at;
drop index audit_gap_ingest;
alter table audit_gap drop column ingest, drop column digest;
alter table audit_head drop column log_id, drop column begins_after, drop column kept_after, drop column chain;
alter table audit_entry drop column digest;

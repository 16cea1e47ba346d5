-- Up Migration

-- How far the log of each workspace has come on its way to a collector. No row: nothing was sent yet.
create table audit_export (
  workspace_id bigint primary key references workspace on delete cascade,
  -- Of which log: a cursor of another one says nothing.
  log_id uuid not null,
  -- Every item up to it was taken by the collector, or is counted below.
  position bigint not null,
  -- The chain's value after it; null where that is not known, as before there was a chain.
  chain bytea,
  -- Items that were gone before they could be sent.
  lost bigint not null default 0,
  -- Records that the collector took in a request and then refused.
  rejected bigint not null default 0,
  exported_at timestamptz not null
);

-- Which control plane sends, and until when the others let it.
create table audit_export_lease (
  one boolean primary key default true check (one),
  holder text not null,
  until timestamptz not null
);

-- Down Migration
drop table audit_export_lease, audit_export;

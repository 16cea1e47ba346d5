-- Up Migration

-- Who follows the policy of a workspace, and how it is: as the control planes that they follow have heard it, a few seconds late.
create table sidecar (
  workspace_id bigint not null references workspace on delete cascade,
  -- No foreign key: what was is still shown after its key has gone.
  key_id text collate "C" not null,
  -- Of one start of the sidecar.
  boot_id text collate "C" not null,
  -- Of the stream it is known by. Whatever is left of an earlier one says nothing any more.
  stream_id text collate "C" not null,
  -- For people.
  sidecar_id text not null,
  form text not null check (form in ('process', 'library')),
  control_plane text not null,
  connected_at timestamptz not null,
  -- By the database's clock, which all control planes share: when a control plane last wrote that it is there.
  seen_at timestamptz not null,
  left_at timestamptz,
  -- What it acknowledged last, or said that it holds; null: nothing.
  epoch text,
  revision bigint,
  nack_code text,
  nack_message text,
  nack_at timestamptz,
  -- Null: it has not said how it is.
  version text,
  spool_records bigint,
  spool_bytes bigint,
  spool_age_ms bigint,
  unrecorded bigint,
  outage_decisions bigint,
  primary key (workspace_id, key_id, boot_id)
-- Rows change every few seconds and in place.
) with (fillfactor = 50);

-- Down Migration
drop table sidecar;

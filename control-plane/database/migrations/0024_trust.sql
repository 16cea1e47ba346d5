-- Up Migration

-- What a workspace is known by where its slug may come to mean another one: in spools, and in policy that is kept on disk.
alter table workspace add column random_id text not null default replace(gen_random_uuid()::text, '-', '');

alter table audit_stream
  -- SHA-256 of the secret that the spool's sidecar shows. Null: the spool is from before there were secrets, and takes the first that is shown.
  add column secret_hash bytea,
  -- The key that the spool was begun with. Null: not known, as of spools from before.
  add column key_id text collate "C",
  -- The only subject that its entries may name; null: any.
  add column only_sub text collate "C",
  -- The log says already that records of it came again with other bytes.
  add column conflicted boolean not null default false;

-- Of the last entries of each spool, how their bytes were: SHA-256 of each, 32 bytes, one after the other.
create table audit_sent (
  workspace_id bigint not null references workspace on delete cascade,
  spool_id uuid not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  hashes bytea not null,
  primary key (workspace_id, spool_id, first_sequence)
);

alter table sidecar add column refused_spools bigint, add column refused_records bigint;

-- Side by side: counters are few or short-lived, and who writes one waits for the index for less than a second.
-- The key that asked for it, whose share it counts in. Null: asked for before there were shares.
alter table quota_counter add column key_id text collate "C";
create index quota_counter_key on quota_counter (workspace_id, key_id, kept_until);

-- Down Migration
drop index quota_counter_key;
alter table quota_counter drop column key_id;
alter table sidecar drop column refused_spools, drop column refused_records;
drop table audit_sent;
alter table audit_stream drop column secret_hash, drop column key_id, drop column only_sub, drop column conflicted;
alter table workspace drop column random_id;

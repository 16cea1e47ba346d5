-- Up Migration

-- New tables only. The jobs that send the messages are in a schema of their own, `tollgate_jobs`, which graphile-worker
-- makes when the first channel is added.

-- Addresses that receive messages about approvals.
create table approval_channel (
  workspace_id bigint not null references workspace on delete cascade,
  name text collate "C" not null,
  url text not null,
  -- Receives messages about approvals whose rules name no channel.
  is_default boolean not null,
  -- Signs messages. Sealed with a key that is derived from the secret of approvals.
  secret bytea not null,
  secret_at timestamptz not null,
  -- The secret before it signs too, until `old_secret_until`.
  old_secret bytea,
  old_secret_until timestamptz,
  created_at timestamptz not null,
  primary key (workspace_id, name),
  check ((old_secret is null) = (old_secret_until is null))
);

-- Messages that are to be sent, were sent, or could not be sent. A message is written in the transaction of the step that
-- it reports. All times are by the clock of the database.
create table approval_message (
  workspace_id bigint not null,
  -- The `webhook-id`. It stays the same at each attempt.
  id text collate "C" not null,
  channel text collate "C" not null,
  kind text not null check (kind in ('asked', 'ended', 'digest')),
  -- Null: a digest. No foreign key: a message outlives its approval.
  approval_id text collate "C",
  -- The text as it is sent at each attempt. Null: a digest that still collects.
  body text,
  -- Of a digest: the first approvals, and the number of all.
  digest_ids text[] collate "C" not null default '{}',
  digest_count integer not null default 0,
  state text not null check (state in ('waiting', 'sent', 'failed')),
  created_at timestamptz not null,
  -- When the first attempt was due.
  due_at timestamptz not null,
  -- When the next attempt is due. Null: there is none.
  next_at timestamptz,
  -- Until then no other process makes an attempt. Null: no attempt is in progress.
  leased_until timestamptz,
  attempts integer not null default 0,
  -- Why the last attempt failed. Null: none has.
  problem text,
  ended_at timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, channel) references approval_channel on delete cascade,
  check ((next_at is null) = (state <> 'waiting')),
  check ((ended_at is null) = (state = 'waiting')),
  check ((approval_id is null) = (kind = 'digest'))
);
create index approval_message_channel on approval_message (workspace_id, channel, created_at);
create index approval_message_asked on approval_message (workspace_id, approval_id) where kind = 'asked';
create index approval_message_newest on approval_message (workspace_id, created_at, id);
create index approval_message_next on approval_message (next_at) where next_at is not null;
create index approval_message_leased on approval_message (workspace_id, leased_until) where leased_until is not null;
create index approval_message_ended on approval_message (ended_at) where ended_at is not null;

-- Down Migration
drop table approval_message, approval_channel;
drop schema if exists tollgate_jobs cascade;

-- Up Migration
-- Console sessions, and sign-ins under way. Of tokens only hashes are here.

create table session (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  hash text collate "C" not null unique,
  -- What it stands on: a key, or a member whom an issuer recognised.
  key_id text collate "C",
  uid text collate "C",
  expires_at timestamptz not null,
  created_at timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, key_id) references api_key on delete cascade,
  foreign key (workspace_id, uid) references member on delete cascade,
  check ((key_id is null) <> (uid is null))
);
create index session_key on session (workspace_id, key_id);
create index session_member on session (workspace_id, uid);
create index session_expiry on session (expires_at);

create table sign_in (
  state_hash text collate "C" primary key,
  browser_hash text collate "C" not null,
  -- A slug that nobody has proved to exist: who is told so must be a member of it.
  workspace text collate "C" not null,
  verifier text not null,
  nonce text not null,
  return_to text not null,
  expires_at timestamptz not null
);
create index sign_in_expiry on sign_in (expires_at);

-- Down Migration
drop table sign_in, session;

-- Up Migration
-- Who there is: the deployment itself, workspaces, members, keys. Every key of every table begins with its workspace,
-- so that nothing crosses. Names compare byte by byte ("C").

create table deployment (
  id boolean primary key default true check (id),
  -- Random; a restored database takes a new one, so that sidecars do not take its revisions for ones they have seen.
  epoch text not null,
  -- Of the very first owner key, so that a later, different TOLLGATE_OWNER_KEY is noticed.
  owner_key_hash text not null,
  created_at timestamptz not null
);

create table workspace (
  id bigint generated always as identity primary key,
  slug text collate "C" not null unique,
  revision bigint not null default 0,
  -- When the revision was raised, for measuring how long sidecars take to have it.
  raised_at timestamptz not null default now(),
  frozen boolean not null default false,
  created_at timestamptz not null
);

create table member (
  workspace_id bigint not null references workspace on delete cascade,
  uid text collate "C" not null,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null,
  primary key (workspace_id, uid)
);

create table api_key (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  hash text collate "C" not null unique,
  last4 text not null,
  name text not null,
  scopes text[] not null,
  -- The member a personal key acts as; null for a service key.
  uid text collate "C",
  -- The member whose role a service key has.
  made_by text collate "C" not null,
  pin_tier text,
  pin_agent text,
  pin_client text,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null,
  primary key (workspace_id, id)
);

create table admin_event (
  workspace_id bigint not null references workspace on delete cascade,
  id bigint generated always as identity,
  at timestamptz not null,
  sub text not null,
  key_id text not null,
  action text not null,
  target text not null,
  revision bigint not null,
  detail jsonb not null,
  primary key (workspace_id, id)
);

-- Down Migration
drop table admin_event, api_key, member, workspace, deployment;

-- Up Migration

create table agent (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  -- Settles which of two agents of one instant is newer.
  position bigint generated always as identity,
  name text not null,
  model text not null,
  system_prompt text not null,
  description text not null,
  icon text not null,
  enabled_tools text[] not null,
  scopes text[] not null,
  max_tool_calls bigint not null,
  max_budget_cents bigint not null,
  max_duration_ms bigint not null,
  max_tool_rounds bigint not null,
  delegatable boolean not null,
  can_delegate boolean not null,
  max_delegation_depth bigint,
  suspended boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (workspace_id, id)
);

create index agent_newest on agent (workspace_id, created_at, position);

-- Down Migration
drop table agent;

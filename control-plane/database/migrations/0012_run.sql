-- Up Migration

-- Control planes that run agents: whoever is not heard of is taken for dead (operations/runs/mend-runs.ts).
create table run_instance (
  id text collate "C" primary key,
  -- By the database's clock, which all of them share.
  heartbeat_at timestamptz not null
);

-- Amounts are µ¢, integers of a millionth of a cent.
create table run (
  workspace_id bigint not null references workspace on delete cascade,
  id text collate "C" not null,
  -- No foreign key: runs outlive their agents.
  agent_id text collate "C" not null,
  agent_name text not null,
  model text not null,
  -- Of the caller that the root run began with.
  sub text collate "C" not null,
  -- Run ids from the root to this one. Whoever locks several of them does so in this order, after the user's day.
  lineage text[] collate "C" not null,
  status text not null check (status in ('running', 'completed', 'failed', 'cancelled')),
  stop_reason text,
  started_at timestamptz not null,
  ended_at timestamptz,
  instance text collate "C" not null,
  cancel_requested_at timestamptz,
  -- Of this run and all below it.
  budget bigint not null,
  reserved bigint not null default 0 check (reserved >= 0),
  spent bigint not null default 0 check (spent >= 0),
  prompt_tokens bigint not null default 0,
  completion_tokens bigint not null default 0,
  tool_calls bigint not null default 0,
  -- Not jsonb, which would reorder what was said.
  request json not null,
  transcript json,
  output text not null default '',
  error text,
  primary key (workspace_id, id),
  check (reserved + spent <= budget),
  check ((status = 'running') = (ended_at is null))
);

create index run_of_agent on run (workspace_id, agent_id, started_at, id);
create index run_running on run (instance) where status = 'running';

-- Down Migration
drop table run, run_instance;

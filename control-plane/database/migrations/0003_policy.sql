-- Up Migration
-- `key` is the role, the agent-type key or the uid, and empty for the workspace; `part` is empty but for users.

create table policy_document (
  workspace_id bigint not null references workspace on delete cascade,
  layer text collate "C" not null check (layer in ('workspace', 'role', 'agent-type', 'user')),
  key text collate "C" not null,
  part text collate "C" not null check (case layer when 'user' then part in ('organisation', 'self') else part = '' end),
  document jsonb not null,
  revision bigint not null,
  primary key (workspace_id, layer, key, part)
);

-- Each document as each revision left it; null: removed.
create table policy_history (
  workspace_id bigint not null references workspace on delete cascade,
  revision bigint not null,
  layer text collate "C" not null,
  key text collate "C" not null,
  part text collate "C" not null,
  document jsonb,
  sub text not null,
  at timestamptz not null,
  primary key (workspace_id, revision, layer, key, part)
);

-- Down Migration
drop table policy_history, policy_document;

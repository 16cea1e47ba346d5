-- Up Migration

-- MCP servers that agents of a workspace get tools from.
create table tool_server (
  workspace_id bigint not null references workspace on delete cascade,
  name text collate "C" not null,
  -- Where it is, or the program to start; one of the two.
  url text,
  program text,
  args text[] not null,
  -- Names of its headers or of its program's variables. Their values are in `sealed`: `nonce, tag, ciphertext` of AES-256-GCM.
  secret_names text[] not null,
  sealed bytea,
  -- [[tool, [scope]]]
  scopes jsonb not null,
  -- [{name, description, inputSchema}]; not jsonb, which would reorder what models read.
  tools json not null,
  revision bigint not null,
  discovered_at timestamptz not null,
  created_at timestamptz not null,
  primary key (workspace_id, name),
  check ((url is null) <> (program is null)),
  check ((sealed is null) = (cardinality(secret_names) = 0))
);

-- Down Migration
drop table tool_server;

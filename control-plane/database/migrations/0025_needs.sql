-- Up Migration

-- Capabilities that programs must have to work on this database, since something in it was written with them.
alter table deployment add column needs text[] not null default '{}';
-- Of each control plane, while it lives.
alter table run_instance add column capabilities text[] not null default '{}';
-- As its hello named them.
alter table sidecar add column capabilities jsonb not null default '[]';

-- Down Migration
alter table sidecar drop column capabilities;
alter table run_instance drop column capabilities;
alter table deployment drop column needs;

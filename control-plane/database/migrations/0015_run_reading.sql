-- Up Migration

-- Of a run that goes on as of its last round. Null: nobody knows, since whoever ran it died, or it is older than this.
alter table run add column rounds bigint;
alter table run alter column rounds set default 0;

-- For who may list only their own.
create index run_of_sub on run (workspace_id, agent_id, sub, started_at, id);
-- For what is out of retention.
create index run_ended on run (ended_at) where ended_at is not null;

-- Down Migration
drop index run_of_sub, run_ended;
alter table run drop column rounds;
